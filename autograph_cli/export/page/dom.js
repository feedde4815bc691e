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
/** Call later what was asked for last, once. */
const soon = (act, wait) => {
  let timer = 0;
  return () => { clearTimeout(timer); timer = setTimeout(act, wait); };
};
const say = (words) => { get("said").textContent = words; setTimeout(() => { if (get("said").textContent === words) get("said").textContent = ""; }, 4000); };
