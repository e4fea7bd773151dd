/** @module-tag no-retry */
import { expect, test } from 'vitest'
import { plantCanary, findCanaries } from '../../support/canary.ts'

const { secret } = plantCanary('key')
const base64 = (text: string) => Buffer.from(text).toString('base64')
const percent = (text: string) => Buffer.from(text).toString('hex').replaceAll(/../g, '%$&')

test.each([
  { name: 'the whole secret', text: `{"key":"${secret}"}`, form: 'plain' },
  { name: 'the first 12 characters', text: `${secret.slice(0, 12)}...`, form: 'plain' },
  { name: 'the last 12 characters', text: `...${secret.slice(-12)}`, form: 'plain' },
  { name: '12 from its middle', text: secret.slice(17, 29), form: 'plain' },
  { name: 'the whole secret in base64', text: base64(secret), form: 'base64' },
  { name: 'a header in base64', text: `Basic ${base64(`a:${secret}`)}`, form: 'base64' },
  { name: 'a longer header in base64', text: `Basic ${base64(`ada:${secret}:x`)}`, form: 'base64' },
  { name: '12 characters in base64', text: base64(secret.slice(5, 17)), form: 'base64' },
  { name: 'the whole secret percent-encoded', text: percent(secret), form: 'percent' },
  {
    name: '12 characters percent-encoded',
    text: percent(secret.slice(9, 21)).toUpperCase(),
    form: 'percent',
  },
])('findCanaries finds $name', ({ text, form }) => {
  const findings = findCanaries({ log: `before ${text} after`, events: 'nothing here' }, [
    { label: 'key', secret },
    plantCanary('other'),
  ])
  expect(findings).toEqual([expect.objectContaining({ sink: 'log', label: 'key', form })])
  expect(JSON.stringify(findings)).not.toContain(secret.slice(0, 12))
})

test.each([
  { name: 'the first 11 characters', text: secret.slice(0, 11) },
  { name: '10 characters in base64', text: base64(secret.slice(0, 10)) },
  { name: '11 characters percent-encoded', text: percent(secret.slice(0, 11)) },
  { name: 'another canary', text: plantCanary('other').secret },
])('findCanaries ignores $name', ({ text }) => {
  expect(findCanaries({ log: text }, [{ label: 'key', secret }])).toEqual([])
})

test('a canary is accepted as a given key and differs each time', () => {
  expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/)
  expect(plantCanary('key').secret).not.toBe(secret)
})
