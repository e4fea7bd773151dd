// How the tables of manifests are read.

import { type Canary, canary } from '../../support/canary.ts'

/** A manifest's spec: an object, or JSON text for what JavaScript would not write; absent, none. */
export type SpecOf = Readonly<Record<string, unknown>> | string

/** A manifest that the API server takes. */
export interface Accepted {
  readonly name: string
  readonly spec: SpecOf
  /** What is stored where that is not what was sent. */
  readonly stored?: Readonly<Record<string, unknown>>
}

/** A manifest that it refuses. */
export interface Refused {
  readonly name: string
  readonly spec?: SpecOf
  /** The field that the answer blames; absent for 400, which blames in the message. */
  readonly field?: string
  /** What the answer says to write instead. */
  readonly says: RegExp
  /** 422 when absent. */
  readonly code?: 400
}

/** A change of a stored object. */
export interface Change {
  readonly name: string
  readonly from: Readonly<Record<string, unknown>>
  /** A merge patch; a list is a JSON patch. */
  readonly patch: unknown
  /** What is stored then, or why it is refused. */
  readonly to: Readonly<Record<string, unknown>> | { readonly says: RegExp }
}

/** A key whose parts no refusal may show. */
export const KEY: Canary = canary('key')

/** A key that somebody wrote without quotes. */
export const NUMBER_KEY: Canary = { label: 'number', secret: '98765432109876543210' }

/** The secrets beside the key. */
export const LOGIN: Canary = canary('login')

/** Every secret field of an access key, set: a refusal for any reason must not show them. */
export const SECRETS = {
  key: KEY.secret,
  identity: { connectorData: LOGIN.secret },
  oidcLogin: { idToken: LOGIN.secret, accessToken: LOGIN.secret, refreshToken: LOGIN.secret },
} as const

/** `count` times what `make` makes of 0, 1, 2... */
export function times<T>(count: number, make: (index: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, index) => make(index))
}
