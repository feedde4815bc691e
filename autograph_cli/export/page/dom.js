"use strict";
// What all files share: the elements of the page, and how new ones are made. Data is written as text, never as HTML.
const get = (id) => document.getElementById(id);
const make = (name, inside, attributes = {}, text = "") => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text) element.textContent = text;
  if (inside) inside.append(element);
  return element;
};
/** What `make` makes when it is first asked for. */
const once = (make) => {
  let made;
  return () => (made === undefined ? (made = make()) : made);
};
/** Call later what was asked for last, once. */
const soon = (act, wait) => {
  let timer = 0;
  return () => { clearTimeout(timer); timer = setTimeout(act, wait); };
};
/** What was packed by deflate, and written in base 64. */
const unpacked = (text) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
};
const say = (words) => { get("said").textContent = words; setTimeout(() => { if (get("said").textContent === words) get("said").textContent = ""; }, 4000); };
