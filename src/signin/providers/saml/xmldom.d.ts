/** The used part of xmldom; its own types bring the types of browsers into every file. */
declare module '@xmldom/xmldom/lib/index.js' {
  interface XmldomNode {
    readonly localName: string | null
    readonly namespaceURI: string | null
    readonly childNodes: ArrayLike<XmldomNode>
  }

  /** Its parser; the handler is called for whatever is malformed. */
  class DOMParser {
    constructor(options: { readonly errorHandler: (level: string) => void })
    parseFromString(xml: string, type: 'text/xml'): { readonly documentElement: XmldomNode | null }
  }
}
