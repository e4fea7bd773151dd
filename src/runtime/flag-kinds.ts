// Kinds of flag values that know no command.
import { parseDuration } from '../domain/time.ts'
import { type BindAddress, parseBindAddress } from './address.ts'
import type { ValueKind } from './flags.ts'

/** One of a few words. */
export const choiceKind = <const Word extends string>(words: readonly Word[]): ValueKind<Word> => ({
  placeholder: '<word>',
  accepts: `one of ${words.join(', ')}`,
  read: (text) => words.find((word) => word === text),
})

/** A path; an empty text means none. */
export const fileKind: ValueKind<string | null> = {
  placeholder: '<file>',
  accepts: 'a path',
  read: (text) => text || null,
}

/** A whole number from 1 to `most`, which is below 10 million. */
export const countKind = (most: number): ValueKind<number> => ({
  placeholder: '<number>',
  accepts: `a whole number from 1 to ${most}`,
  read: (text) => (/^[1-9]\d{0,6}$/.test(text) && Number(text) <= most ? Number(text) : undefined),
})

/** A duration of at least `leastMs` milliseconds, in Go's syntax; `least` is its text. */
export const durationKind = (leastMs: number, least: string): ValueKind<number> => ({
  placeholder: '<duration>',
  accepts: `a duration of at least ${least}, such as 15s, 1h30m or 24h`,
  read: (text) => {
    const ms = parseDuration(text)
    return ms !== null && ms >= leastMs ? ms : undefined
  },
})

/** Address that a server listens on; null = it is off. */
export const optionalAddressKind: ValueKind<BindAddress | null> = {
  placeholder: '<address>',
  accepts: 'an address such as :8080 or 127.0.0.1:8080, or 0 for none',
  read: (text) => {
    const address = parseBindAddress(text)
    return address === 'off' ? null : (address ?? undefined)
  },
}

/** Address that a server listens on, which can't be switched off. */
export const addressKind: ValueKind<BindAddress> = {
  placeholder: '<address>',
  accepts: 'an address such as :8443 or 127.0.0.1:8443',
  read: (text) => {
    const address = parseBindAddress(text)
    return address === 'off' || address === null ? undefined : address
  },
}
