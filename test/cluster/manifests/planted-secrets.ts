// The secrets of an access key, planted: no refusal, for whatever reason, may show a part of them.

import { type Canary, plantCanary, findCanaries } from '../../support/canary.ts'
import type { SpecOf } from './case-runner.ts'

/** A key whose parts no refusal may show. */
export const KEY: Canary = plantCanary('key')

/** A key that a user wrote as a number. */
export const NUMBER_KEY: Canary = { label: 'number', secret: '98765432109876543210' }

/** The secrets beside the key. */
export const LOGIN: Canary = plantCanary('login')

/** Every secret field, set. */
export const SECRETS = {
  key: KEY.secret,
  identity: { connectorData: LOGIN.secret },
  oidcLogin: { idToken: LOGIN.secret, accessToken: LOGIN.secret, refreshToken: LOGIN.secret },
} as const

/** A bad spec with the good secrets that it does not set itself; text and nothing stay as they are. */
export function besideSecrets(spec: SpecOf | undefined): SpecOf | undefined {
  return typeof spec === 'object' ? { ...SECRETS, ...spec } : spec
}

/** Which of the secrets stand in `text`, whole or in part. */
export function secretsIn(text: string): readonly string[] {
  return findCanaries({ text }, [KEY, LOGIN, NUMBER_KEY]).map(({ label }) => label)
}
