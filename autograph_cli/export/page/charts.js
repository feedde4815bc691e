// Small drawings: histograms and curves.
const SVG = "http://www.w3.org/2000/svg";
const drawn = (name, inside, attributes) => {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  inside.append(element);
  return element;
};
/** A histogram of 16 equal parts from the lowest to the highest number. */
const histogram = (inside, low, high, counts, what) => {
  const most = Math.max(...counts), figure = make("figure", inside, { class: "bars" });
  const svg = drawn("svg", figure, { viewBox: "0 0 160 44", preserveAspectRatio: "none", role: "img", "aria-label": `${what}: a histogram from ${low} to ${high}` });
  counts.forEach((count, place) => {
    if (!count) return;
    const height = Math.max(1, 42 * count / most), bar = drawn("rect", svg, { x: place * 10 + 0.5, y: 43 - height, width: 9, height });
    drawn("title", bar, {}).textContent = `${count.toLocaleString("en")}`;
  });
  const ends = make("figcaption", figure);
  make("span", ends, {}, low);
  make("span", ends, {}, high);
};
/** A curve of numbers, one for each step, null where there is none; the step that is shown is marked. */
const curveOf = (inside, numbers, at, what, words) => {
  const known = numbers.filter((number) => Number.isFinite(number)), low = Math.min(...known), high = Math.max(...known);
  const x = (place) => (numbers.length > 1 ? 4 + place * 152 / (numbers.length - 1) : 80), y = (number) => (high > low ? 38 - 32 * (number - low) / (high - low) : 22);
  const figure = make("figure", inside, { class: "history", title: words });
  const svg = drawn("svg", figure, { viewBox: "0 0 160 44", preserveAspectRatio: "none", role: "img", "aria-label": `${what}: ${words}` });
  const points = numbers.map((number, place) => [place, number]).filter(([, number]) => Number.isFinite(number));
  drawn("polyline", svg, { points: points.map(([place, number]) => `${x(place).toFixed(1)},${y(number).toFixed(1)}`).join(" ") });
  for (const [place, number] of points) if (points.length < 40 || place === at) drawn("circle", svg, { cx: x(place), cy: y(number), r: place === at ? 3.5 : 1.6, class: place === at ? "at" : "" });
  const caption = make("figcaption", figure);
  make("span", caption, {}, what);
  make("span", caption, {}, words);
};
const rounded = (number) => (Number.isFinite(number) ? String(Number(number.toPrecision(4))) : String(number));
