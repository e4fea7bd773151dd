import { expect } from 'vitest'
import { API_VERSION } from '../../../src/api/names.ts'
import type { KubeObject } from '../../../src/api/objects.ts'
import type { Raw } from '../../support/raw-client.ts'
import { secretsIn } from './planted-secrets.ts'

// How the tables of manifests are read.

/** A manifest's spec: an object, or JSON text for what JavaScript would not write; absent, none. */
export type SpecOf = Fields | string

/** An object of any shape. */
export type Fields = Readonly<Record<string, unknown>>

/** A manifest that the API server takes. */
export interface Accepted {
  readonly name: string
  readonly spec: SpecOf
  /** What is stored where that is not what was sent. */
  readonly stored?: Fields
}

/** A manifest that it refuses. */
export interface Refused {
  readonly name: string
  readonly spec?: SpecOf
  /** The field that the answer blames; absent where it names it in the message only. */
  readonly field?: string
  /** What the answer says to write instead. */
  readonly says: RegExp
  /** 422 when absent. */
  readonly code?: 400
}

/** A change of a stored object that is taken. */
export interface Change {
  readonly name: string
  readonly from: Fields
  /** A merge patch; a list is a JSON patch. */
  readonly patch: object
  readonly to: Fields
}

/** A change that is refused. */
export interface RefusedChange extends Omit<Change, 'to'> {
  readonly says: RegExp
}

/** `count` times what `make` makes of 0, 1, 2... */
export function times<T>(count: number, make: (index: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, index) => make(index))
}

// Sends manifests and changes, and says what came of them.

/** What came of a request, and what is stored after it. */
export interface Outcome {
  readonly code: number
  /** What the API server blamed, and for what; empty when it took the request. */
  readonly said: readonly Cause[]
  /** The secrets that a refusal showed. */
  readonly leaked: readonly string[]
  /** The spec that is stored now, null when there is no object. */
  readonly stored: unknown
}

interface Cause {
  /** Empty when it stands in the message only. */
  readonly field: string
  readonly message: string
}

interface Answer extends KubeObject {
  readonly message?: string
  readonly details?: { readonly causes?: readonly Cause[] }
}

let count = 0

/** A name that nothing else in this file of tests has. */
export function newName(): string {
  count += 1
  return `manifest-${count}`
}

/** Where the objects of a kind of ours are. */
export function collectionOf(kind: string): string {
  return `/apis/${API_VERSION}/${kind.toLowerCase()}s`
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
  if (code < 400) return { code, said: [], leaked: [], stored }
  const { message = '', details } = body
  const said = details?.causes ?? [{ field: '', message }]
  return {
    code,
    said: said.map((cause) => ({ field: cause.field, message: cause.message })),
    leaked: secretsIn(JSON.stringify(body)),
    stored,
  }
}

/** What should come of a manifest that is taken. */
export function taken({ spec, stored }: Omit<Accepted, 'name'>): Outcome {
  return { code: 201, said: [], leaked: [], stored: stored ?? spec }
}

/** What should come of one that is refused: it says what to write, shows no secret, stores nothing. */
export function refused({ code, field = '', says }: Omit<Refused, 'name'>): unknown {
  return { code: code ?? 422, said: saying(field, says), leaked: [], stored: null }
}

/** What should come of a change that is taken. */
export function changed(to: Fields): Outcome {
  return { code: 200, said: [], leaked: [], stored: to }
}

/** What should come of a change that is refused: everything stays as it was. */
export function unchanged({ from, says }: RefusedChange): unknown {
  return { code: 422, said: saying(expect.any(String), says), leaked: [], stored: from }
}

const saying = (field: unknown, says: RegExp): unknown =>
  expect.arrayContaining([{ field, message: expect.stringMatching(says) }])
