// Rectangles by WebGL2. They stay on the card; to pan or zoom only four numbers change.

const VERTEX = `#version 300 es
in vec4 rect;
in vec4 colour;
uniform vec4 move;
uniform vec2 screen;
out vec4 shown;
void main() {
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  vec2 at = (mix(rect.xz, rect.yw, corner) - move.xz) * move.yw;
  gl_Position = vec4(at.x / screen.x * 2.0 - 1.0, 1.0 - at.y / screen.y * 2.0, 0.0, 1.0);
  shown = vec4(colour.rgb * colour.a, colour.a);
}`;
const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 shown;
out vec4 colour;
void main() { colour = shown; }`;

/** A painter, or an error where there is no WebGL2. */
export class PaintGl {
  constructor(canvas) {
    this.canvas = canvas;
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: false, preserveDrawingBuffer: true });
    if (!gl) throw new Error("no WebGL2");
    this.gl = gl;
    const program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error("no shaders");
    gl.useProgram(program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.places = { rect: gl.getAttribLocation(program, "rect"), colour: gl.getAttribLocation(program, "colour") };
    this.move = gl.getUniformLocation(program, "move");
    this.screen = gl.getUniformLocation(program, "screen");
  }

  /** Begins a picture of so many pixels. */
  begin(width, height, ground) {
    const { gl, canvas } = this;
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    gl.viewport(0, 0, width, height);
    gl.uniform2f(this.screen, width, height);
    gl.clearColor(ground[0] / 255, ground[1] / 255, ground[2] / 255, 1);
    gl.clear(gl.COLOR_BUFFER_BIT);
  }

  upload(batch) {
    const { gl } = this;
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    const buffers = [[batch.rects, this.places.rect, gl.FLOAT, false], [batch.colours, this.places.colour, gl.UNSIGNED_BYTE, true]];
    const made = buffers.map(([data, place, type, normal]) => {
      const buffer = gl.createBuffer();
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferData(gl.ARRAY_BUFFER, data, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, 4, type, normal, 0, 0);
      gl.vertexAttribDivisor(place, 1);
      return buffer;
    });
    return { array, buffers: made, length: batch.length, batch };
  }

  /** Draws at `(x - ox) * sx`, `(y - oy) * sy`. */
  draw(handle, ox, sx, oy, sy) {
    const { gl } = this;
    gl.bindVertexArray(handle.array);
    gl.uniform4f(this.move, ox, sx, oy, sy);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, handle.length);
  }

  release(handle) {
    handle.buffers.forEach((buffer) => this.gl.deleteBuffer(buffer));
    this.gl.deleteVertexArray(handle.array);
  }
}
