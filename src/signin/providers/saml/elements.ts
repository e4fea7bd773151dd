// Elements of messages of SAML by their names. Pure.
import type { XmlElement } from './xml.ts'

/** The namespaces of messages. */
export const PROTOCOL = 'urn:oasis:names:tc:SAML:2.0:protocol'
export const ASSERTION = 'urn:oasis:names:tc:SAML:2.0:assertion'
export const SIGNATURE = 'http://www.w3.org/2000/09/xmldsig#'

/** Whether an element has this name. */
export const isNamed = (element: XmlElement, namespace: string, name: string): boolean =>
  element.namespace === namespace && element.name === name

/** The children of this name. */
export const childrenOf = (
  { children }: XmlElement,
  namespace: string,
  name: string,
): readonly XmlElement[] => children.filter((child) => isNamed(child, namespace, name))

/** The one child of this name; null = there is none, or there are several. */
export function onlyChild(element: XmlElement, namespace: string, name: string): XmlElement | null {
  const [found = null, ...others] = childrenOf(element, namespace, name)
  return others.length === 0 ? found : null
}

/** The element and all below it. */
export const allElements = (element: XmlElement): readonly XmlElement[] => [
  element,
  ...element.children.flatMap(allElements),
]

/** The whole text of an element; null = it has elements, so that no part of it is its text. */
export const wholeText = ({ children, text }: XmlElement): string | null =>
  children.length === 0 ? text : null
