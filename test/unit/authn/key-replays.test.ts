// Recorded watch events that are told again, in any order: what is over stays over (threat C4).
import { expect, test } from 'vitest'
import type { OwnedAccessKey } from '../../../src/api/ownedaccesskey.gen.ts'
import { secretDigest } from '../../../src/authn/key-index.ts'
import { type Random, randomFrom } from '../../support/random.ts'
import { repeated } from '../../support/tier.ts'
import { indexOf, key, secretOf } from './key-builder.ts'

const NAMES = ['a', 'b', 'c']
const SCRIPTS = repeated(50, 150)
const EVENTS = 30

interface Event {
  readonly type: 'put' | 'remove'
  readonly object: OwnedAccessKey
}

/** What a watch may tell: keys of few names come, change, go and come again, some with the same secret. */
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

test('in any order they raise no key from the dead, and take no change back', () => {
  const random = randomFrom(4)
  for (let round = 0; round < SCRIPTS; round += 1) {
    const events = script(random)
    const [straight, haunted] = [indexOf(), indexOf()]
    events.forEach((event, at) => {
      straight.store[event.type](event.object)
      haunted.store[event.type](event.object)
      for (let again = 0; again < 3; again += 1) {
        const old = random.pick(events.slice(0, at + 1))
        haunted.store[old.type](old.object)
      }
      for (const secret of ['x', 'y'].map(secretOf)) {
        const [then, now] = [straight, haunted].map(({ sharing, find }) => ({
          all: sharing(secretDigest(secret)).map(({ uid, isDisabled }) => `${uid} ${isDisabled}`),
          eldest: find(secret).uid,
        }))
        expect(now).toEqual(then)
      }
    })
  }
})
