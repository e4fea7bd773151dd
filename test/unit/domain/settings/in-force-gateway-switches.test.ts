// Settings other than caps that the gateway acts on; a malformed one grants nothing (contract 6.4, 6.5, 6.7).
import { expect, test } from 'vitest'
import type { JsonMap } from '../../../../src/domain/json/json.ts'
import { gatewaySwitchesInForce } from '../../../../src/domain/settings/effective-settings.ts'

const read = (settings: JsonMap) =>
  gatewaySwitchesInForce({ known: true, settings, from: 'record' })

test.each<{ name: string; settings: JsonMap; prefix: string; guarded: boolean; closed: boolean }>([
  { name: 'nothing', settings: {}, prefix: 'p-', guarded: false, closed: false },
  {
    name: 'a prefix',
    settings: { projectNamespacePrefix: 'proj-' },
    prefix: 'proj-',
    guarded: false,
    closed: false,
  },
  {
    name: 'a version endpoint for authenticated users',
    settings: { authenticateVersionEndpoint: true },
    prefix: 'p-',
    guarded: true,
    closed: false,
  },
  {
    name: 'a closed endpoint',
    settings: { disableConfigEndpoint: true },
    prefix: 'p-',
    guarded: false,
    closed: true,
  },
])(
  'gatewaySwitchesInForce of settings with $name (6.7)',
  ({ settings, prefix, guarded, closed }) => {
    expect(read(settings)).toEqual({
      projectNamespacePrefix: prefix,
      authenticateVersionEndpoint: guarded,
      disableConfigEndpoint: closed,
    })
  },
)

test.each<{ name: string; settings: JsonMap }>([
  {
    name: 'an empty prefix, which matches every namespace',
    settings: { projectNamespacePrefix: '' },
  },
  { name: 'a prefix without a trailing dash', settings: { projectNamespacePrefix: 'p' } },
  { name: 'a prefix that is a number', settings: { projectNamespacePrefix: 1 } },
  { name: 'a switch as a text', settings: { disableConfigEndpoint: 'true' } },
  { name: 'a switch that is null', settings: { authenticateVersionEndpoint: null } },
])('gatewaySwitchesInForce is null for settings with $name (6.5)', ({ settings }) => {
  expect(read(settings)).toBeNull()
})

test('gatewaySwitchesInForce is null for unknown settings', () => {
  expect(gatewaySwitchesInForce({ known: false, because: 'none yet' })).toBeNull()
})
