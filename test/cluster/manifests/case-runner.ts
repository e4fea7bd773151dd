// How the tables of manifests are tested: types of their rows, requests, and the expected outcomes. Each refusal is
// searched for planted secrets.
import { expect } from 'vitest'
import { ACCESS_KEY_CLAIMS, API_VERSION } from '../../../src/api/names.ts'
import type { KubeObject } from '../../../src/api/objects.ts'
import { type Canary, findCanaries, plantCanary } from '../../support/canary.ts'
import type { Raw } from '../../support/raw-client.ts'

/** The spec of a manifest: an object, or JSON text that JSON.stringify would not produce; absent = no spec. */
export type SpecOf = Fields | string

/** An object of any shape. */
export type Fields = Readonly<Record<string, unknown>>

/** A manifest that the API server accepts. */
export interface Accepted {
  readonly name: string
  readonly spec: SpecOf
  /** The stored spec; absent = the spec as sent. */
  readonly stored?: Fields
}

/** A manifest that the API server rejects. */
export interface Refused {
  readonly name: string
  readonly spec?: SpecOf
  /** The field in the causes of the Status; absent = the field is in the message only. */
  readonly field?: string
  /** The message, with what to write instead. */
  readonly says: RegExp
  /** Absent = 422. */
  readonly code?: 400
}

/** A change of a stored object that the API server accepts. */
export interface Change {
  readonly name: string
  readonly from: Fields
  /** A merge patch; an array is a JSON patch. */
  readonly patch: object
  readonly to: Fields
}

/** A change that the API server rejects. */
export interface RefusedChange extends Omit<Change, 'to'> {
  readonly says: RegExp
}

/** `make(0)` to `make(count - 1)`. */
export function times<T>(count: number, make: (index: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, index) => make(index))
}

/** The value of `spec.key`, of which no refusal may show a part. */
export const KEY: Canary = plantCanary('key')

/** A value of `spec.key` written as a number. */
export const NUMBER_KEY: Canary = { label: 'number', secret: '98765432109876543210' }

/** The value of the other secret fields. */
export const LOGIN: Canary = plantCanary('login')

/** A spec with every secret field. */
export const SECRETS = {
  key: KEY.secret,
  identity: { connectorData: LOGIN.secret },
  oidcLogin: { idToken: LOGIN.secret, accessToken: LOGIN.secret, refreshToken: LOGIN.secret },
} as const

/** A spec object with all secrets that it does not set itself; text and undefined are returned unchanged. */
export function besideSecrets(spec: SpecOf | undefined): SpecOf | undefined {
  return typeof spec === 'object' ? { ...SECRETS, ...spec } : spec
}

/** Labels of the secrets that `text` contains, whole or in part. */
export function secretsIn(text: string): readonly string[] {
  return findCanaries({ text }, [KEY, LOGIN, NUMBER_KEY]).map(({ label }) => label)
}

/** The response to a request and the stored spec after it. */
export interface Outcome {
  readonly code: number
  /** The causes of the Status; empty when the request was accepted. */
  readonly causes: readonly Cause[]
  /** Labels of the secrets in a rejection. */
  readonly leaked: readonly string[]
  /** The stored spec; null = no object. */
  readonly stored: unknown
}

interface Cause {
  /** Empty = the field is in the message only. */
  readonly field: string
  readonly message: string
}

interface Answer extends KubeObject {
  readonly message?: string
  readonly details?: { readonly causes?: readonly Cause[] }
}

let count = 0

/** A name that is unique in the test file. */
export function newName(): string {
  count += 1
  return `manifest-${count}`
}

/** The path of the collection of a kind; claims are in namespace default. */
export function collectionOf(kind: string): string {
  const place = kind === ACCESS_KEY_CLAIMS.kind ? '/namespaces/default' : ''
  return `/apis/${API_VERSION}${place}/${kind.toLowerCase()}s`
}

/** Creates an object under strict validation, as kubectl does. */
export async function create(
  raw: Raw,
  kind: string,
  spec: SpecOf | undefined,
  name = newName(),
): Promise<Outcome> {
  const text = typeof spec === 'string' ? spec : JSON.stringify(spec)
  const envelope = JSON.stringify({ apiVersion: API_VERSION, kind, metadata: { name } })
  const body = text === undefined ? envelope : `${envelope.slice(0, -1)},"spec":${text}}`
  const answer = await raw<Answer>('POST', `${collectionOf(kind)}?fieldValidation=Strict`, body)
  return outcomeOf(raw, kind, name, answer)
}

/** Creates an object and changes it, under strict validation. */
export async function change(
  raw: Raw,
  kind: string,
  { from, patch }: Pick<Change, 'from' | 'patch'>,
): Promise<Outcome> {
  const name = newName()
  const created = await create(raw, kind, from, name)
  if (created.code !== 201) return created
  const contentType = `application/${Array.isArray(patch) ? 'json' : 'merge'}-patch+json`
  const path = `${collectionOf(kind)}/${name}?fieldValidation=Strict`
  const answer = await raw<Answer>('PATCH', path, patch, { contentType })
  return outcomeOf(raw, kind, name, answer)
}

async function outcomeOf(
  raw: Raw,
  kind: string,
  name: string,
  { code, body }: { readonly code: number; readonly body: Answer },
): Promise<Outcome> {
  const read = await raw<KubeObject>('GET', `${collectionOf(kind)}/${name}`)
  const stored = read.code === 404 ? null : read.body.spec
  if (code < 400) return { code, causes: [], leaked: [], stored }
  const { message = '', details } = body
  const causes = details?.causes ?? [{ field: '', message }]
  return {
    code,
    causes: causes.map((cause) => ({ field: cause.field, message: cause.message })),
    leaked: secretsIn(JSON.stringify(body)),
    stored,
  }
}

/** The expected outcome of an accepted manifest. */
export function accepted({ spec, stored }: Omit<Accepted, 'name'>): Outcome {
  return { code: 201, causes: [], leaked: [], stored: stored ?? spec }
}

/** The expected outcome of a rejected manifest: its causes, no secret in the response, nothing stored. */
export function rejected({ code, field = '', says }: Omit<Refused, 'name'>): unknown {
  return { code: code ?? 422, causes: causesOf(field, says), leaked: [], stored: null }
}

/** The expected outcome of an accepted change. */
export function changed(to: Fields): Outcome {
  return { code: 200, causes: [], leaked: [], stored: to }
}

/** The expected outcome of a rejected change: the stored spec is unchanged. */
export function unchanged({ from, says }: RefusedChange): unknown {
  return { code: 422, causes: causesOf(expect.any(String), says), leaked: [], stored: from }
}

const causesOf = (field: unknown, says: RegExp): unknown =>
  expect.arrayContaining([{ field, message: expect.stringMatching(says) }])
