// Namespaces in XML 1.0: what the names of an element and of its attributes stand for. Pure.

const XML_NAMESPACE = 'http://www.w3.org/XML/1998/namespace'

/** Prefixes that hold at one place; messages have ten. The scope is copied for each element that declares some. */
const MOST_PREFIXES = 64
/** The canonical form repeats a namespace at each element that uses it. Of SAML and its schemas none has 100 characters. */
const LONGEST_NAMESPACE = 512

/** The namespaces by prefix; the empty prefix has the namespace of elements without one. */
export type NamespaceScope = ReadonlyMap<string, string>

const OUTERMOST: NamespaceScope = new Map([
  ['', ''],
  ['xml', XML_NAMESPACE],
])

/** An element and its attributes by what their names stand for. */
interface ExpandedNames {
  readonly namespace: string
  readonly name: string
  readonly attributes: ReadonlyMap<string, string>
}

/**
 * What a start tag stands for.
 *
 * @param written its name with its prefix
 * @param attributes values by their names as they are written
 * @param outer the namespaces around it; null = it is the outermost element
 * @returns null where a prefix is not declared, a declaration is forbidden or beyond the bounds, and for two attributes of one name
 */
export function opened(
  written: string,
  attributes: ReadonlyMap<string, string>,
  outer: NamespaceScope | null,
): { readonly names: ExpandedNames; readonly scope: NamespaceScope } | null {
  const scope = scopeWithin(outer ?? OUTERMOST, attributes)
  const [prefix, name] = parts(written)
  const namespace = scope?.get(prefix)
  if (!scope || namespace === undefined) return null
  const expanded = new Map<string, string>()
  for (const [attribute, value] of attributes) {
    if (isDeclaration(attribute)) continue
    const key = expandedAttribute(attribute, scope)
    if (key === null || expanded.has(key)) return null
    expanded.set(key, value)
  }
  return { names: { namespace, name, attributes: expanded }, scope }
}

const isDeclaration = (attribute: string): boolean =>
  attribute === 'xmlns' || attribute.startsWith('xmlns:')

/** The parts of a name; its prefix is empty where it has none. */
function parts(written: string): readonly [prefix: string, name: string] {
  const at = written.indexOf(':')
  return [written.slice(0, Math.max(at, 0)), written.slice(at + 1)]
}

function scopeWithin(
  outer: NamespaceScope,
  attributes: ReadonlyMap<string, string>,
): NamespaceScope | null {
  const declared = [...attributes].filter(([attribute]) => isDeclaration(attribute))
  if (declared.length === 0) return outer
  const scope = new Map(outer)
  for (const [attribute, namespace] of declared) {
    const prefix = attribute === 'xmlns' ? '' : attribute.slice('xmlns:'.length)
    const isForbidden = prefix.startsWith('xml') || namespace === XML_NAMESPACE
    // A prefix can't be taken back.
    if (isForbidden || (prefix !== '' && namespace === '')) return null
    if (namespace.length > LONGEST_NAMESPACE) return null
    scope.set(prefix, namespace)
  }
  return scope.size > MOST_PREFIXES ? null : scope
}

/** null = the prefix is not declared, or the name is one that the canonical form would leave out. */
function expandedAttribute(attribute: string, scope: NamespaceScope): string | null {
  if (attribute.startsWith('xmlns')) return null
  const [prefix, name] = parts(attribute)
  if (prefix === '') return name
  const namespace = scope.get(prefix)
  return namespace === undefined ? null : `{${namespace}}${name}`
}
