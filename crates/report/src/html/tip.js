"use strict";
(() => {
  const tip = document.getElementById("tip");
  const show = (target, x, y) => {
    tip.textContent = target.getAttribute("data-tip");
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(12, Math.min(x + 14, innerWidth - box.width - 12)) + "px";
    tip.style.top = (y + 18 + box.height > innerHeight ? Math.max(8, y - box.height - 12) : y + 18) + "px";
  };
  const of = (event) => event.target instanceof Element && event.target.closest("[data-tip]");
  const hide = () => { tip.hidden = true; };
  const point = (event) => {
    const target = of(event);
    if (target) show(target, event.clientX, event.clientY); else hide();
  };
  addEventListener("pointermove", point);
  addEventListener("pointerdown", point);
  addEventListener("scroll", hide, { passive: true });
  addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  addEventListener("focusout", hide);
  addEventListener("focusin", (event) => {
    const target = of(event);
    if (!target) return;
    const box = target.getBoundingClientRect();
    show(target, box.left, box.bottom - 12);
  });
})();
