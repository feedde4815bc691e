// How drawn shapes are moved and bent. Browsers are slow with thousands of transforms, so places are written anew.
const shape = (name, inside, attributes = {}) => {
  const element = inside.appendChild(document.createElementNS("http://www.w3.org/2000/svg", name));
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
};
/** Move an element by writing its places anew; browsers are slow with thousands of transforms. */
const PLACES = { rect: ["x", "y"], text: ["x", "y"], ellipse: ["cx", "cy"], line: ["x1", "y1", "x2", "y2"], polygon: ["points"] };
const shapes = new WeakMap();
const move = (element, dx, dy) => {
  if (!shapes.has(element)) {
    const found = element.children.length ? [...element.querySelectorAll("rect, text, ellipse, line, polygon")] : [element];
    shapes.set(element, { dx: 0, dy: 0, parts: found.map((shape) => [shape, PLACES[shape.tagName].map((name) => [name, numbers(shape.getAttribute(name))])]) });
  }
  const shape = shapes.get(element);
  if (shape.dx === dx && shape.dy === dy) return;
  Object.assign(shape, { dx, dy });
  let odd = false;
  for (const [part, places] of shape.parts) {
    odd = false;
    for (const [name, at] of places) part.setAttribute(name, at.map((value) => { odd = !odd; return (value + (odd ? dx : dy)).toFixed(2); }).join(" "));
  }
};
const numbers = (text) => text.match(/-?[\d.]+/g).map(Number);
/** A function from old to new coordinates that takes strips to their lengths and leaves all else as it is. */
const mapped = (strips) => {
  const moves = [0];
  for (const strip of strips) moves.push(moves[moves.length - 1] + strip.length - (strip.to - strip.from));
  return (at) => {
    let low = 0, high = strips.length;
    while (low < high) { const middle = (low + high) >> 1; if (strips[middle].to <= at) low = middle + 1; else high = middle; }
    const strip = strips[low];
    if (!strip || at <= strip.from) return at + moves[low];
    return strip.from + moves[low] + (at - strip.from) * strip.length / (strip.to - strip.from);
  };
};
const curve = (path) => ({ path, marks: path.getAttribute("d").match(/[MLC]/g), at: numbers(path.getAttribute("d")) });
const redraw = (curve, mx, my) => {
  let d = "", i = 0;
  for (const mark of curve.marks) {
    d += mark;
    for (const end = i + (mark === "C" ? 6 : 2); i < end; i += 2) d += `${mx(curve.at[i], curve.at[i + 1]).toFixed(2)},${my(curve.at[i + 1]).toFixed(2)} `;
  }
  curve.path.setAttribute("d", d);
};
const span = (rect, at, mx, my) => {
  const [left, top, right, bottom] = [mx(at[0]), my(at[1]), mx(at[2]), my(at[3])];
  rect.setAttribute("x", left); rect.setAttribute("y", top);
  rect.setAttribute("width", Math.max(0, right - left)); rect.setAttribute("height", Math.max(0, bottom - top));
  return [left, top, right, bottom];
};
