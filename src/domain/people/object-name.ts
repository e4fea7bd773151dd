// The names of the objects of people and teams: metadata.name has fewer characters than a user name (contract 24.3).
import { isDnsSubdomain } from '../dns-name.ts'

const NAME = /^[!-~]{1,253}$/
/** Prefixes of names that Kubernetes and the platform give themselves. */
const RESERVED = /^(?:system|platform|claim):/i

/** Whether a person or a team may have this name (contract 24.1): visible ASCII, of no reserved prefix. */
export const isPersonName = (name: string): boolean => NAME.test(name) && !RESERVED.test(name)

/** Characters of the name that its form keeps. */
const KEPT = 50
/** Hex digits of the digest, which tells names apart whose other characters are equal. */
const DIGITS = 10

/**
 * The form of a name as metadata.name: the name itself where it is a DNS subdomain, else what is left of it, and the
 * beginning of its digest.
 *
 * @param sha256 returns the SHA-256 of a text in hex
 */
export function objectNameOf(name: string, sha256: (text: string) => string): string {
  if (isDnsSubdomain(name)) return name
  const words = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
  const kept = words.slice(0, KEPT).replace(/-$/, '')
  return `${kept === '' ? 'x' : kept}-${sha256(name).slice(0, DIGITS)}`
}

/** The name of a User or Team, and the one that belongs to its person or team. */
export interface ExpectedName {
  readonly name: string
  /** metadata.name that belongs to the name of the person or team (contract 24.3). */
  readonly expectedName: string
}

/** Whether the object has the name that belongs to its user name; otherwise it counts for nothing (contract 24.1). */
export const hasExpectedName = ({ name, expectedName }: ExpectedName): boolean =>
  name === expectedName
