// A JSON patch of the Config that moves entries of a list, and tests what is hidden in them (12.4, X4).
import { expect } from 'vitest'
import { SETTINGS, secrets } from './doors.ts'
import { type Answered, type Hand, type Held, JSON_PATCH } from './self-service-clients.ts'

/** Who sends it, and how the Config is looked at and changed past the gateway. */
export interface Movers {
  /** Who may do everything, and who may change no Config. */
  readonly hands: Readonly<Record<'root' | 'stranger', Hand>>
  readonly config: (method: 'GET' | 'PATCH', body?: object) => Promise<Held>
  /** @throws Error when an answer holds a secret */
  readonly clean: (answer: Answered) => void
}

/** What of the Config is stored in the end, and what of it should be. */
export interface Moved {
  readonly found: object
  readonly wanted: object
}

/** Right and wrong guesses are refused alike, and what was shown brings back what it stood for. */
export async function movesEntries({ hands, config, clean }: Movers): Promise<Moved> {
  const { secret } = secrets.clientSecret
  const connector = (id: string, clientSecret: string): object => ({
    id,
    oidc: { clientId: id, clientSecret },
  })
  const list = '/spec/auth/connectors'
  const connectors = [connector('one', `${secret}-1`), connector('two', `${secret}-2`)]
  await config('PATCH', { spec: { auth: { connectors } } })
  const patched = (by: 'root' | 'stranger', ...body: readonly object[]): Promise<Answered> =>
    hands[by].ask('PATCH', `configs/${SETTINGS}`, { type: JSON_PATCH, body })
  const guess = (place: string, value: string): object => ({
    op: 'test',
    path: `${list}/${place}/oidc/clientSecret`,
    value,
  })
  const remove = { op: 'remove', path: `${list}/0` }
  const add = { op: 'add', path: `${list}/0`, value: connector('new', 'x') }
  for (const value of [`${secret}-2`, 'wrong'])
    for (const patch of [
      [remove, guess('0', value)],
      [add, guess('2', value)],
      [guess('-1', value)],
      [guess('01', value)],
      [remove, add, guess('0', value)],
    ]) {
      const answers = await Promise.all(
        (['root', 'stranger'] as const).map((by) => patched(by, ...patch)),
      )
      expect({ patch, codes: answers.map(({ code }) => code) }).toEqual({
        patch,
        codes: [422, 403],
      })
      answers.forEach(clean)
    }
  const { json } = await hands.root.ask('GET', `configs/${SETTINGS}`)
  const shown = (json.spec as { auth: { connectors: readonly object[] } }).auth.connectors
  const back = { op: 'replace', path: `${list}/0`, value: { ...shown[1], id: 'back' } }
  expect((await patched('root', add)).code).toBe(200)
  expect((await patched('root', remove, remove, back)).code).toBe(200)
  expect((await patched('root', { ...back, op: 'add' })).code).toBe(422)
  const { spec } = await config('GET')
  await config('PATCH', { spec: { auth: { connectors: null } } })
  return { found: spec, wanted: { auth: { connectors: [{ ...connectors[1], id: 'back' }] } } }
}
