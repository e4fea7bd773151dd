import { expect, test } from 'vitest'
import type { AuditSettings } from '../../../../src/api/config.gen.ts'
import { idleAuditSettings } from '../../../../src/domain/audit/idle-settings.ts'

const NOTHING = 'audit is enabled, and has neither a level nor rules: nothing is recorded'

test.each<{
  readonly name: string
  readonly audit: AuditSettings | undefined
  readonly expected: readonly string[]
}>([
  { name: 'no settings', audit: undefined, expected: [] },
  { name: 'audit that is off', audit: { policy: { rules: [] } }, expected: [] },
  { name: 'neither level nor rules', audit: { enabled: true, path: '/a' }, expected: [NOTHING] },
  {
    name: 'level 0 beside no rules',
    audit: { enabled: true, path: '/a', level: 0, policy: { rules: [] } },
    expected: [NOTHING],
  },
  { name: 'a level', audit: { enabled: true, path: '/a', level: 1 }, expected: [] },
  {
    name: 'rules for virtual clusters alone',
    audit: {
      enabled: true,
      policy: {
        rules: [
          { level: 'Metadata', requestTargets: ['VCluster'] },
          { level: 'Metadata', requestTargets: ['VCluster', 'Cluster'] },
        ],
      },
    },
    expected: ['rules[0] names only VCluster, which has no path here: it matches no request'],
  },
  {
    name: 'wildcards where there are none',
    audit: {
      enabled: true,
      policy: {
        rules: [
          { level: 'Metadata', users: ['*'], userGroups: ['*'] },
          { level: 'None', verbs: ['get', '*'], namespaces: ['*'] },
          {
            level: 'None',
            nonResourceURLs: ['*'],
            clusters: ['*'],
            resources: [{ group: '*', resources: ['*'] }],
          },
        ],
      },
    },
    expected: [
      'rules[0] has * in users, where it is a name like any other: leave users out',
      'rules[0] has * in userGroups, where it is a name like any other: leave userGroups out',
      'rules[1] has * in verbs, where it is a name like any other: leave verbs out',
      'rules[1] has * in namespaces, where it is a name like any other: leave namespaces out',
    ],
  },
])('$name: what records nothing is named (21.1)', ({ audit, expected }) => {
  expect(idleAuditSettings(audit)).toEqual(expected)
})
