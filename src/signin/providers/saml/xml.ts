// XML of a provider, read strictly, in linear time and within bounds (contract 25.6 "saml"). It takes what messages of SAML
// need of XML, in one way each; all else is refused, so that no two readers can see different documents.
import { SignInRefused } from '../../../domain/signin/refusals.ts'
import { opened, type NamespaceScope } from './xml-namespaces.ts'

/** An element. */
export interface XmlElement {
  /** Empty = none. */
  readonly namespace: string
  /** Without the prefix. */
  readonly name: string
  /** Values by name; of an attribute in a namespace, by `{namespace}name`. */
  readonly attributes: ReadonlyMap<string, string>
  readonly children: readonly XmlElement[]
  /** Its own text, without the texts of its children. */
  readonly text: string
}

/** Bounds of a document. */
const MOST_ELEMENTS = 2000
const MOST_LEVELS = 64
/** Of one element; SAML knows ten at most. */
const MOST_ATTRIBUTES = 32
/** Of all elements. xml-crypto takes 50 µs for each; 128 KiB of values with their types have 3,000. */
const MOST_ATTRIBUTES_IN_ALL = 4000

const malformed = (fault: string): SignInRefused =>
  new SignInRefused('provider_answer', `the XML ${fault}`)

/** Reads a document whose line ends are LF. @throws SignInRefused `provider_answer`, which quotes nothing */
export function readXml(text: string): XmlElement {
  if (!ONLY_CHARACTERS.test(text)) throw malformed('has a character that XML does not allow')
  return new XmlReader(text).read()
}

/** The characters of XML 1.0. */
const ONLY_CHARACTERS = /^[\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]*$/u

/** Literals, so that the test of expressions measures them: they read what anybody sends. */
const DECLARATION =
  /<\?xml[ \t\n\r]+version[ \t\n\r]*=[ \t\n\r]*["']1\.0["'](?:[ \t\n\r]+encoding[ \t\n\r]*=[ \t\n\r]*["'][Uu][Tt][Ff]-8["'])?(?:[ \t\n\r]+standalone[ \t\n\r]*=[ \t\n\r]*["'](?:yes|no)["'])?[ \t\n\r]*\?>/y
const START = /<((?:[A-Za-z_][\w.-]*:)?[A-Za-z_][\w.-]*)/y
const ATTRIBUTE =
  /[ \t\n\r]+((?:[A-Za-z_][\w.-]*:)?[A-Za-z_][\w.-]*)[ \t\n\r]*=[ \t\n\r]*(?:"([^"<]*)"|'([^'<]*)')/y
const START_END = /[ \t\n\r]*(\/?)>/y
const END = /<\/((?:[A-Za-z_][\w.-]*:)?[A-Za-z_][\w.-]*)[ \t\n\r]*>/y
const TEXT = /[^<]+/y

/** What stands behind `<` of markup that is refused, with its name. */
const REFUSED_MARKUP = [
  ['<!--', 'a comment'],
  ['<![CDATA[', 'a CDATA section'],
  ['<!', 'a DOCTYPE'],
  ['<?', 'a processing instruction'],
] as const

/** An element whose end is not reached yet. */
interface OpenElement {
  /** As it is written, with its prefix. */
  readonly written: string
  readonly element: XmlElement & { readonly children: XmlElement[]; text: string }
  readonly scope: NamespaceScope
}

class XmlReader {
  readonly #text: string
  #at = 0
  #elements = 0
  #attributesInAll = 0
  readonly #open: OpenElement[] = []
  #root: XmlElement | null = null

  constructor(text: string) {
    this.#text = text
  }

  read(): XmlElement {
    this.#take(DECLARATION)
    while (this.#at < this.#text.length) {
      const content = this.#take(TEXT)
      if (content !== null) this.#addText(content[0])
      else if (this.#text.startsWith('</', this.#at)) this.#close()
      else this.#start()
    }
    if (this.#root === null || this.#open.length > 0) throw malformed('ends too early')
    return this.#root
  }

  /** What an expression finds here; null = nothing. */
  #take(expression: RegExp): RegExpExecArray | null {
    expression.lastIndex = this.#at
    const found = expression.exec(this.#text)
    if (found !== null) this.#at = expression.lastIndex
    return found
  }

  #addText(written: string): void {
    const parent = this.#open.at(-1)
    if (parent) parent.element.text += characters(written)
    else if (/[^ \t\n\r]/.test(written)) throw malformed('has a text outside its element')
  }

  #start(): void {
    const [, written] = this.#take(START) ?? []
    if (written === undefined) throw malformed(this.#refusedMarkup())
    if (this.#open.length === 0 && this.#root !== null)
      throw malformed('has more than one outermost element')
    this.#elements += 1
    if (this.#elements > MOST_ELEMENTS) throw malformed(`has more than ${MOST_ELEMENTS} elements`)
    if (this.#open.length >= MOST_LEVELS) throw malformed(`has more than ${MOST_LEVELS} levels`)
    const attributes = this.#attributes()
    const end = this.#take(START_END)
    if (end === null) throw malformed('has a malformed tag')
    const parent = this.#open.at(-1)
    const found = opened(written, attributes, parent?.scope ?? null)
    if (found === null) throw malformed('has a namespace or an attribute that is not well-formed')
    const element = { ...found.names, children: [], text: '' }
    parent?.element.children.push(element)
    this.#root ??= element
    if (end[1] === '') this.#open.push({ written, element, scope: found.scope })
  }

  #refusedMarkup(): string {
    const found = REFUSED_MARKUP.find(([start]) => this.#text.startsWith(start, this.#at))
    return found ? `has ${found[1]}` : 'has a malformed tag'
  }

  #attributes(): ReadonlyMap<string, string> {
    const attributes = new Map<string, string>()
    for (let found = this.#take(ATTRIBUTE); found !== null; found = this.#take(ATTRIBUTE)) {
      const [, name = '', quoted, apostrophed] = found
      if (attributes.has(name)) throw malformed('has an attribute twice')
      attributes.set(name, characters((quoted ?? apostrophed ?? '').replaceAll(/[\t\n\r]/g, ' ')))
      if (attributes.size > MOST_ATTRIBUTES)
        throw malformed(`has an element with more than ${MOST_ATTRIBUTES} attributes`)
    }
    this.#attributesInAll += attributes.size
    if (this.#attributesInAll > MOST_ATTRIBUTES_IN_ALL)
      throw malformed(`has more than ${MOST_ATTRIBUTES_IN_ALL} attributes`)
    return attributes
  }

  #close(): void {
    const [, written] = this.#take(END) ?? []
    if (written === undefined || written !== this.#open.pop()?.written)
      throw malformed('has a tag that ends another element')
  }
}

const REFERENCE = /&(?:(amp|lt|gt|quot|apos);|#(\d{1,7});|#x([\dA-Fa-f]{1,6});)?|\]\]>/g
const PREDEFINED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
}

/** The characters that are written, with what references stand for. */
const characters = (written: string): string =>
  written.replaceAll(REFERENCE, (_, name?: string, decimal?: string, hexadecimal?: string) => {
    if (name !== undefined) return PREDEFINED[name] ?? ''
    const code = decimal === undefined ? Number.parseInt(hexadecimal ?? '', 16) : Number(decimal)
    const character = code <= 0x10ffff ? String.fromCodePoint(code) : ''
    if (character === '' || !ONLY_CHARACTERS.test(character))
      throw malformed('has an entity that is not predefined')
    return character
  })
