// A page that a browser shows: its links and forms, and the policies that its headers and its head set.
import { type DefaultTreeAdapterTypes, defaultTreeAdapter, parse } from 'parse5'

type Node = DefaultTreeAdapterTypes.Node
type Element = DefaultTreeAdapterTypes.Element

/** A form of a page. */
export interface PageForm {
  readonly method: string
  /** Absolute. */
  readonly action: URL
  /** Values of its fields, also the hidden ones. */
  readonly fields: Readonly<Record<string, string>>
}

/** A link of a page. */
export interface PageLink {
  readonly text: string
  readonly url: URL
}

/** What a page has. */
export interface ReadPage {
  /** What people see, white space as one space. */
  readonly text: string
  readonly forms: readonly PageForm[]
  readonly links: readonly PageLink[]
  /** Policy of its `<meta name="referrer">`, which stands above the header; null = it has none. */
  readonly referrerPolicy: string | null
  readonly elements: readonly Element[]
}

/** Reads HTML as a browser does. */
export function readPage(html: string, url: URL): ReadPage {
  const elements = elementsIn(parse(html))
  const named = (tag: string): readonly Element[] =>
    elements.filter(({ tagName }) => tagName === tag)
  const referrer = named('meta').find((meta) => attribute(meta, 'name') === 'referrer')
  return {
    text: textOf(named('body')[0]),
    forms: named('form').map((form) => formOf(form, url)),
    links: named('a').map((link) => ({
      text: textOf(link),
      url: new URL(attribute(link, 'href') ?? '', url),
    })),
    referrerPolicy: referrer === undefined ? null : (attribute(referrer, 'content') ?? null),
    elements,
  }
}

/** An attribute of an element; undefined = it has none of this name. */
export const attribute = ({ attrs }: Element, name: string): string | undefined =>
  attrs.find((one) => one.name === name)?.value

function formOf(form: Element, url: URL): PageForm {
  const inputs = elementsIn(form).filter(({ tagName }) => tagName === 'input')
  return {
    method: (attribute(form, 'method') ?? 'get').toUpperCase(),
    action: new URL(attribute(form, 'action') ?? '', url),
    fields: Object.fromEntries(
      inputs.flatMap((input) => {
        const name = attribute(input, 'name')
        return name === undefined ? [] : [[name, attribute(input, 'value') ?? '']]
      }),
    ),
  }
}

function elementsIn(node: Node): readonly Element[] {
  const children = 'childNodes' in node ? node.childNodes : []
  return children.flatMap((child) =>
    defaultTreeAdapter.isElementNode(child) ? [child, ...elementsIn(child)] : [],
  )
}

function textOf(node: Node | undefined): string {
  if (node === undefined) return ''
  if (defaultTreeAdapter.isTextNode(node)) return node.value
  const children = 'childNodes' in node ? node.childNodes : []
  return children.map(textOf).join(' ').replaceAll(/\s+/g, ' ').trim()
}
