//! Memory apart from addresses, as expandable segments take it: pages are created, which is when they are counted, and
//! mapped into reserved addresses, which cost nothing. A page is the card's again when it is released and mapped nowhere,
//! in whichever order.

use std::collections::BTreeMap;

use oomph_engine::device::Device;
use oomph_engine::simulated::SimulatedDevice;
use oomph_trace::{Addr, Bytes};

use crate::code::{Code, INVALID_VALUE, OUT_OF_MEMORY};

/// Sizes and addresses of pages are multiples of this.
pub(crate) const GRANULE: Bytes = Bytes::mib(2);

/// What a handle stands for.
struct Page {
    size: Bytes,
    released: bool,
    /// In how many places it is mapped.
    places: usize,
}

/// All pages of a card, and where they are mapped.
pub(crate) struct Pages {
    pages: BTreeMap<u64, Page>,
    /// The handle and the length of each mapping, by address.
    mapped: BTreeMap<Addr, (u64, Bytes)>,
    /// What was created and is mapped nowhere yet.
    loose: Bytes,
    /// The last handle that was given.
    last: u64,
}

impl Pages {
    pub(crate) const fn new() -> Pages {
        Pages { pages: BTreeMap::new(), mapped: BTreeMap::new(), loose: Bytes::ZERO, last: 0 }
    }

    /// `cuMemCreate`: memory with no address, by its handle.
    ///
    /// PyTorch reserves one and an eighth of the card for a segment, creates all pages of a request, and where the segment
    /// is too short for them goes on behind its end, and dies. No card has so much. One that hands out more than it has,
    /// for a plan, must refuse it too.
    pub(crate) fn create(&mut self, card: &mut SimulatedDevice, size: Bytes) -> Result<u64, Code> {
        check(size)?;
        let loose = self.loose + size;
        if loose.0 >= card.total().0 + card.total().0 / 8 {
            return Err(OUT_OF_MEMORY);
        }
        // Where it will be mapped does not matter to what is counted.
        if !card.map(Addr(0), size) {
            return Err(OUT_OF_MEMORY);
        }
        self.loose = loose;
        self.last += 1;
        self.pages.insert(self.last, Page { size, released: false, places: 0 });
        Ok(self.last)
    }

    /// `cuMemRelease`: the handle is gone; the memory stays as long as it is mapped.
    pub(crate) fn release(&mut self, card: &mut SimulatedDevice, handle: u64) -> Result<(), Code> {
        let page = self.held(handle)?;
        page.released = true;
        let (size, is_loose) = (page.size, page.places == 0);
        if is_loose {
            self.loose -= size;
        }
        self.drop_unused(card, handle);
        Ok(())
    }

    /// `cuMemMap`: a whole page, into reserved addresses where nothing is mapped.
    pub(crate) fn map(
        &mut self,
        card: &SimulatedDevice,
        addr: Addr,
        size: Bytes,
        handle: u64,
    ) -> Result<(), Code> {
        let end = addr.0.checked_add(size.0).map(Addr).ok_or(INVALID_VALUE)?;
        let (start, length) = card.reserved_around(addr).ok_or(INVALID_VALUE)?;
        let is_free =
            self.mapped.range(..end).next_back().is_none_or(|(at, (_, held))| at.offset(*held) <= addr);
        let page = self.held(handle)?;
        if page.size != size || end > start.offset(length) || !addr.0.is_multiple_of(GRANULE.0) || !is_free {
            return Err(INVALID_VALUE);
        }
        let was_loose = page.places == 0;
        page.places += 1;
        if was_loose {
            self.loose -= size;
        }
        self.mapped.insert(addr, (handle, size));
        Ok(())
    }

    /// `cuMemSetAccess`: whether pages are mapped in all of a range.
    pub(crate) fn allow(&self, addr: Addr, size: Bytes) -> Result<(), Code> {
        self.whole(addr, size).map(drop)
    }

    /// `cuMemUnmap`: of whole mappings, one beside the other.
    pub(crate) fn unmap(&mut self, card: &mut SimulatedDevice, addr: Addr, size: Bytes) -> Result<(), Code> {
        for at in self.whole(addr, size)? {
            let Some((handle, _)) = self.mapped.remove(&at) else { continue };
            if let Some(page) = self.pages.get_mut(&handle) {
                page.places -= 1;
                if page.places == 0 && !page.released {
                    self.loose += page.size;
                }
            }
            self.drop_unused(card, handle);
        }
        Ok(())
    }

    /// `cuMemAddressFree`: of a whole reservation in which nothing is mapped.
    pub(crate) fn unreserve(&self, card: &mut SimulatedDevice, addr: Addr, size: Bytes) -> Result<(), Code> {
        if card.reserved_around(addr) != Some((addr, size))
            || self.mapped.range(addr..addr.offset(size)).next().is_some()
        {
            return Err(INVALID_VALUE);
        }
        card.unreserve(addr, size);
        Ok(())
    }

    /// The page of a handle that was not released.
    fn held(&mut self, handle: u64) -> Result<&mut Page, Code> {
        self.pages.get_mut(&handle).filter(|page| !page.released).ok_or(INVALID_VALUE)
    }

    /// Where the mappings begin that make up exactly this range.
    fn whole(&self, addr: Addr, size: Bytes) -> Result<Vec<Addr>, Code> {
        let end = addr.0.checked_add(size.0).map(Addr).filter(|end| *end > addr).ok_or(INVALID_VALUE)?;
        let (mut found, mut at) = (Vec::new(), addr);
        while at < end {
            let (_, length) = self.mapped.get(&at).ok_or(INVALID_VALUE)?;
            found.push(at);
            at = at.offset(*length);
        }
        if at == end { Ok(found) } else { Err(INVALID_VALUE) }
    }

    /// Gives a page back to the card once nobody can reach it.
    fn drop_unused(&mut self, card: &mut SimulatedDevice, handle: u64) {
        if let Some(page) = self.pages.get(&handle).filter(|page| page.released && page.places == 0) {
            card.unmap(Addr(0), page.size);
            self.pages.remove(&handle);
        }
    }
}

/// `cuMemAddressReserve`: addresses with nothing behind them.
pub(crate) fn reserve(card: &mut SimulatedDevice, size: Bytes) -> Result<Addr, Code> {
    check(size)?;
    card.reserve(size).ok_or(OUT_OF_MEMORY)
}

fn check(size: Bytes) -> Result<(), Code> {
    if size > Bytes::ZERO && size.0.is_multiple_of(GRANULE.0) { Ok(()) } else { Err(INVALID_VALUE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: Bytes = Bytes::mib(20);

    /// A card of 60 MiB with 200 MiB reserved.
    fn stage() -> (SimulatedDevice, Pages, Addr) {
        let mut card = SimulatedDevice::new(Some(Bytes::mib(60)));
        let at = reserve(&mut card, Bytes::mib(200)).expect("there is address space");
        assert_eq!(card.used(), Bytes::ZERO);
        (card, Pages::new(), at)
    }

    #[test]
    fn a_page_is_counted_from_its_creation_until_it_is_released_and_unmapped() {
        let (mut card, mut pages, at) = stage();
        let [first, second] = [0, 1].map(|_| pages.create(&mut card, PAGE).expect("there is room"));
        assert_eq!(card.used(), Bytes::mib(40));
        assert_eq!(pages.map(&card, at, PAGE, first), Ok(()));
        assert_eq!(pages.map(&card, at.offset(PAGE), PAGE, second), Ok(()));
        assert_eq!(pages.allow(at, Bytes::mib(40)), Ok(()));
        assert_eq!(card.used(), Bytes::mib(40));
        assert_eq!(pages.release(&mut card, first), Ok(()));
        assert_eq!(card.used(), Bytes::mib(40));
        assert_eq!(pages.unmap(&mut card, at, PAGE), Ok(()));
        assert_eq!(card.used(), Bytes::mib(20));
        assert_eq!(pages.unmap(&mut card, at.offset(PAGE), PAGE), Ok(()));
        assert_eq!(card.used(), Bytes::mib(20));
        assert_eq!(pages.release(&mut card, second), Ok(()));
        assert_eq!(card.used(), Bytes::ZERO);
        assert_eq!(pages.unreserve(&mut card, at, Bytes::mib(200)), Ok(()));
        assert_eq!(reserve(&mut card, PAGE), Ok(at));
    }

    #[test]
    fn a_full_card_creates_no_page() {
        let (mut card, mut pages, _) = stage();
        let made = [0; 4].map(|_| pages.create(&mut card, PAGE));
        assert_eq!(made, [Ok(1), Ok(2), Ok(3), Err(OUT_OF_MEMORY)]);
        assert_eq!(pages.release(&mut card, 2), Ok(()));
        assert_eq!(pages.create(&mut card, PAGE), Ok(4));
    }

    #[test]
    fn a_card_that_hands_out_more_than_it_has_still_refuses_more_at_once_than_a_segment_can_hold() {
        let mut card = SimulatedDevice::new(Some(Bytes::gib(1))).with_total(Bytes::mib(60));
        let mut pages = Pages::new();
        let at = reserve(&mut card, Bytes::mib(80)).expect("there is address space");
        let made = [0; 4].map(|_| pages.create(&mut card, PAGE));
        assert_eq!(made, [Ok(1), Ok(2), Ok(3), Err(OUT_OF_MEMORY)]);
        assert_eq!(pages.map(&card, at, PAGE, 1), Ok(()));
        assert_eq!(pages.create(&mut card, PAGE), Ok(4));
        assert_eq!(pages.release(&mut card, 2), Ok(()));
        assert_eq!(pages.create(&mut card, PAGE), Ok(5));
        assert_eq!(pages.unmap(&mut card, at, PAGE), Ok(()));
        assert_eq!(pages.create(&mut card, PAGE), Err(OUT_OF_MEMORY));
    }

    #[test]
    fn what_no_driver_accepts_is_refused() {
        let (mut card, mut pages, at) = stage();
        let page = pages.create(&mut card, PAGE).expect("there is room");
        let later = at.offset(Bytes::mib(40));
        assert_eq!(pages.map(&card, at, PAGE, page), Ok(()));
        for (name, refused) in [
            ("odd size", pages.create(&mut card, Bytes::mib(3)).map(drop)),
            ("no size", reserve(&mut card, Bytes::ZERO).map(drop)),
            ("not a handle", pages.release(&mut card, 99)),
            ("over another", pages.map(&card, at, PAGE, page)),
            ("over a part", pages.map(&card, at.offset(GRANULE), PAGE, page)),
            ("between pages", pages.map(&card, at.offset(Bytes::mib(41)), PAGE, page)),
            ("not all of it", pages.map(&card, later, GRANULE, page)),
            ("beyond the reserved", pages.map(&card, at.offset(Bytes::mib(190)), PAGE, page)),
            ("not reserved", pages.map(&card, at.offset(Bytes::gib(1)), PAGE, page)),
            ("too far", pages.map(&card, Addr(u64::MAX), PAGE, page)),
            ("access where nothing is", pages.allow(later, PAGE)),
            ("access too far", pages.allow(at, Bytes::mib(40))),
            ("part of a mapping", pages.unmap(&mut card, at, GRANULE)),
            ("reserved and in use", pages.unreserve(&mut card, at, Bytes::mib(200))),
            ("part of what is reserved", pages.unreserve(&mut card, at, PAGE)),
        ] {
            assert_eq!(refused, Err(INVALID_VALUE), "{name}");
        }
        assert_eq!(pages.release(&mut card, page), Ok(()));
        assert_eq!(pages.release(&mut card, page), Err(INVALID_VALUE), "released before");
        assert_eq!(pages.map(&card, later, PAGE, page), Err(INVALID_VALUE), "released");
    }
}
