import { expect, test } from 'vitest'
import type { ManagedFieldsEntry } from '../../../src/api/objects.ts'
import type { JsonMap } from '../../../src/domain/json/json.ts'
import { settingsByOwner } from '../../../src/domain/managed-fields.ts'

const status = {
  observedGeneration: 3,
  conditions: [{ type: 'Ready', status: 'True' }],
  auth: { accessKeyMaxTTLSeconds: 60, loginAccessKeyTTLSeconds: 90, groupsFilters: ['a', 'b'] },
  platformHost: 'p.example.com',
}

const by = (manager: string, fields: JsonMap, other: Partial<ManagedFieldsEntry> = {}) => ({
  manager,
  operation: 'Update' as const,
  subresource: 'status',
  fieldsV1: { 'f:status': fields },
  ...other,
})

const max = { 'f:auth': { '.': {}, 'f:accessKeyMaxTTLSeconds': {} } }
const login = { 'f:auth': { 'f:loginAccessKeyTTLSeconds': {} } }
const onlyMax = { auth: { accessKeyMaxTTLSeconds: 60 } }
const onlyLogin = { auth: { loginAccessKeyTTLSeconds: 90 } }

test.each<{
  name: string
  entries?: readonly ManagedFieldsEntry[]
  ours: JsonMap
  foreign: JsonMap
}>([
  {
    name: 'a field of each manager',
    entries: [by('ours', login), by('kubectl', max)],
    ours: onlyLogin,
    foreign: onlyMax,
  },
  {
    name: 'by apply',
    entries: [by('kubectl', max, { operation: 'Apply' })],
    ours: {},
    foreign: onlyMax,
  },
  {
    name: 'two others',
    entries: [by('a', login), by('b', max)],
    ours: {},
    foreign: { auth: { ...onlyMax.auth, ...onlyLogin.auth } },
  },
  {
    name: 'two managers own the same value',
    entries: [by('ours', max), by('kubectl', max)],
    ours: onlyMax,
    foreign: onlyMax,
  },
  {
    name: 'ours by two operations',
    entries: [by('ours', max), by('ours', login, { operation: 'Apply' })],
    ours: { auth: { ...onlyMax.auth, ...onlyLogin.auth } },
    foreign: {},
  },
  {
    name: 'another subresource, or none',
    entries: [
      by('kubectl', max, { subresource: '' }),
      by('kubectl', max, { subresource: 'scale' }),
    ],
    ours: {},
    foreign: {},
  },
  {
    name: 'fields that are no settings',
    entries: [
      by('kubectl', {
        'f:observedGeneration': {},
        'f:conditions': { 'k:{"type":"Ready"}': { '.': {}, 'f:status': {} } },
      }),
    ],
    ours: {},
    foreign: {},
  },
  {
    name: 'a list is owned as a whole',
    entries: [by('kubectl', { 'f:auth': { 'f:groupsFilters': {} } })],
    ours: {},
    foreign: { auth: { groupsFilters: ['a', 'b'] } },
  },
  {
    name: 'a list by its entries',
    entries: [by('kubectl', { 'f:auth': { 'f:groupsFilters': { 'v:"a"': {} } } })],
    ours: {},
    foreign: { auth: { groupsFilters: ['a', 'b'] } },
  },
  {
    name: 'a map itself, without its fields',
    entries: [by('kubectl', { 'f:auth': {} })],
    ours: {},
    foreign: {},
  },
  {
    name: 'a field that no longer exists',
    entries: [by('kubectl', { 'f:cloud': { 'f:releaseChannel': {} } })],
    ours: {},
    foreign: {},
  },
  {
    name: 'names of object properties',
    entries: [by('kubectl', { 'f:constructor': {}, 'f:toString': {} })],
    ours: {},
    foreign: {},
  },
  {
    name: 'an entry without a manager',
    entries: [{ subresource: 'status', fieldsV1: { 'f:status': max } }],
    ours: {},
    foreign: onlyMax,
  },
  {
    name: 'an entry without fields',
    entries: [{ manager: 'kubectl', subresource: 'status' }],
    ours: {},
    foreign: {},
  },
  { name: 'no managedFields', ours: {}, foreign: {} },
])('$name', ({ entries, ours, foreign }) => {
  expect(settingsByOwner(status, entries, 'ours')).toEqual({ ours, foreign })
})

test.each([undefined, null, 'text', []])('a status that is %j', (odd) => {
  expect(settingsByOwner(odd, [by('kubectl', max)], 'ours')).toEqual({ ours: {}, foreign: {} })
})
