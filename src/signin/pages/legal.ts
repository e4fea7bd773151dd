// The legal text of the sign-in page: HTML of an administrator, of which nine elements are kept and all else is shown as text
// (contract 25.2).
import { type DefaultTreeAdapterTypes, defaultTreeAdapter, parseFragment } from 'parse5'
import { html, Html } from './html.ts'

type Node = DefaultTreeAdapterTypes.ChildNode

const KEPT: ReadonlySet<string> = new Set(['p', 'br', 'b', 'i', 'em', 'strong', 'ul', 'ol', 'li'])

/** Elements whose content is no text for people. */
const DROPPED: ReadonlySet<string> = new Set(['script', 'style', 'template', 'noscript', 'iframe'])
/** Elements deeper than this are left out. */
const MAX_DEPTH = 16

/** The text as safe HTML. */
export const legalHtml = (template: string): Html => join(parseFragment(template).childNodes, 0)

const join = (nodes: readonly Node[], depth: number): Html =>
  new Html(nodes.map((node) => safe(node, depth).text).join(''))

function safe(node: Node, depth: number): Html {
  if (defaultTreeAdapter.isTextNode(node)) return html`${node.value}`
  if (!defaultTreeAdapter.isElementNode(node) || DROPPED.has(node.tagName)) return html``
  if (depth > MAX_DEPTH) return html``
  const inner = join(node.childNodes, depth + 1)
  if (node.tagName === 'br') return html`<br>`
  if (KEPT.has(node.tagName)) {
    const tag = new Html(node.tagName)
    return html`<${tag}>${inner}</${tag}>`
  }
  const href = node.tagName === 'a' ? linkOf(node.attrs) : null
  return href === null ? inner : html`<a href="${href}" rel="noopener noreferrer">${inner}</a>`
}

function linkOf(
  attributes: readonly { readonly name: string; readonly value: string }[],
): string | null {
  const url = URL.parse(attributes.find(({ name }) => name === 'href')?.value ?? '')
  return url?.protocol === 'https:' ? url.href : null
}
