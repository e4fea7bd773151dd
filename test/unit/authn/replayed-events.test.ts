// Recorded watch events delivered again, in any order: a deleted key stays deleted (threat C4).
import { expect, test } from 'vitest'
import type { OwnedAccessKey } from '../../../src/api/ownedaccesskey.gen.ts'
import { secretDigest } from '../../../src/authn/credential-index.ts'
import { UNKNOWN_KEY } from '../../../src/authn/key-validity.ts'
import { type Random, randomFrom } from '../../support/random.ts'
import { repeated } from '../../support/tier.ts'
import { indexOf, key, secretOf } from './test-authenticator.ts'

const NAMES = ['a', 'b', 'c']
const SCRIPTS = repeated(50, 150)
const EVENTS = 30

interface Event {
  readonly type: 'put' | 'remove'
  readonly object: OwnedAccessKey
}

/** Watch events of keys with few names that are created, changed, deleted and created again, some with one secret. */
function script({ pick, between }: Random): readonly Event[] {
  const living = new Map<string, OwnedAccessKey>()
  return Array.from({ length: EVENTS }, (_, at) => {
    const name = pick(NAMES)
    const resourceVersion = String(at + 2)
    const there = living.get(name)
    if (there && between(0, 1) < 0.4) {
      living.delete(name)
      const metadata = { ...there.metadata, resourceVersion }
      return { type: 'remove', object: { ...there, metadata } }
    }
    const uid = there?.metadata.uid ?? `uid-${at}`
    const secret = there?.spec?.key ?? secretOf(pick(['x', 'y']))
    const object = key(
      name,
      { key: secret, disabled: between(0, 1) < 0.3 },
      {
        metadata: { uid, resourceVersion },
      },
    )
    living.set(name, object)
    return { type: 'put', object }
  })
}

test('replayed events restore no deleted key and undo no change', () => {
  const random = randomFrom(4)
  for (let round = 0; round < SCRIPTS; round += 1) {
    const events = script(random)
    const [straight, replayed] = [indexOf(), indexOf()]
    events.forEach((event, at) => {
      straight.store[event.type](event.object)
      replayed.store[event.type](event.object)
      for (let again = 0; again < 3; again += 1) {
        const old = random.pick(events.slice(0, at + 1))
        replayed.store[old.type](old.object)
      }
      for (const secret of ['x', 'y'].map(secretOf)) {
        const [then, now] = [straight, replayed].map(({ sharing, findBySecret }) => ({
          all: sharing({ ...UNKNOWN_KEY, digest: secretDigest(secret) }).map(
            ({ uid, isDisabled }) => `${uid} ${isDisabled}`,
          ),
          eldest: findBySecret(secret).uid,
        }))
        expect(now).toEqual(then)
      }
    })
  }
})
