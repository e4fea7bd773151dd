// Names that objects can have (contract 19.5): a text that none can have is never read, and becomes no key.
import { isDnsLabel, isDnsSubdomain } from '../../domain/dns-name.ts'

/** A name of an object as a user wrote it, in a field or an annotation. */
interface WrittenName {
  readonly apiVersion: string
  readonly namespace: string
  readonly name: string
}

const LONGEST = 253

/**
 * Whether an object can have the name, in a namespace that there can be. Names of the core group are DNS subdomains.
 * Other groups may take what a segment of a path can be, such as `system:reader`: what their API server asks beyond
 * that is not known here.
 */
export const canBeNamed = ({ apiVersion, namespace, name }: WrittenName): boolean =>
  isDnsLabel(namespace) && (apiVersion === 'v1' ? isDnsSubdomain(name) : isPathSegment(name))

const isPathSegment = (name: string): boolean =>
  name !== '' &&
  name.length <= LONGEST &&
  !['.', '..'].includes(name) &&
  /^[!-~]+$/.test(name) &&
  !/[/%]/.test(name)
