import { describe, expect, test } from 'vitest'
import {
  decideTargets,
  definitionOf,
  targetKey,
} from '../../../../src/gateway/targets/definition.ts'
import type { ConnectedTarget } from '../../../../src/gateway/targets/resolver.ts'
import { findCanaries, plantCanary } from '../../../support/canary.ts'
import { type SecretParts, kubeconfig, targetSecret } from './target-secrets.ts'

const CLUSTER: ConnectedTarget = { kind: 'Cluster', cluster: 'c1' }
const VIRTUAL: ConnectedTarget = {
  kind: 'ProjectVirtualCluster',
  project: 'p',
  virtualCluster: 'v',
}
const SPACE: ConnectedTarget = { kind: 'ProjectSpace', project: 'p', space: 's' }
const SPACE_DATA = { name: 's', project: 'p', cluster: 'c1', namespace: 'shop' }
const LONGEST = `a${'-'.repeat(251)}b`

describe('a Secret defines a target', () => {
  test.each<{ name: string; parts: SecretParts; target: ConnectedTarget; access?: object }>([
    { name: 'a cluster', parts: {}, target: CLUSTER },
    {
      name: 'a virtual cluster',
      parts: {
        label: 'virtualcluster',
        data: { name: 'v', project: 'p', kubeconfig: kubeconfig() },
      },
      target: VIRTUAL,
    },
    {
      name: 'a space',
      parts: { label: 'space', data: SPACE_DATA },
      target: SPACE,
      access: { kind: 'space', cluster: 'c1', namespace: 'shop' },
    },
    {
      name: 'other data',
      parts: { data: { name: 'c1', kubeconfig: kubeconfig(), note: 'x', __proto__: 'y' } },
      target: CLUSTER,
    },
    ...['a', 'a.b', 'a..b', '0-1', LONGEST].map((name) => ({
      name: `the name ${name.slice(0, 10)}`,
      parts: { data: { name, kubeconfig: kubeconfig() } },
      target: { kind: 'Cluster', cluster: name } as const,
    })),
  ])('$name (9.1, 9.5)', ({ parts, target, access }) => {
    const text = kubeconfig()
    expect(definitionOf(targetSecret(parts), false)).toEqual({
      kind: 'valid',
      target,
      access: access ?? { kind: 'kubeconfig', text },
    })
  })

  const NAME = 'must be at most 253 of a-z, 0-9, - and ., with a letter or digit at both ends'
  const LABEL = 'label management.platform.sh/target must be one of cluster, virtualcluster, space'
  test.each<{ name: string; parts: SecretParts; target?: ConnectedTarget; because: string }>([
    { name: 'no label', parts: { label: undefined }, because: LABEL },
    { name: 'another label', parts: { label: 'Cluster' }, because: LABEL },
    { name: 'no data', parts: { data: {} }, because: 'name is missing; kubeconfig is missing' },
    ...['', 'C1', 'a_b', '-a', 'a.', 'a\n', 'a/b', 'a%2fb', '*', `${LONGEST}c`].map((name) => ({
      name: `the name ${JSON.stringify(name.slice(0, 10))}`,
      parts: { data: { name, kubeconfig: kubeconfig() } },
      because: `name ${NAME}`,
    })),
    {
      name: 'no kubeconfig',
      parts: { data: { name: 'c1' } },
      target: CLUSTER,
      because: 'kubeconfig is missing',
    },
    {
      name: 'a kubeconfig with faults',
      parts: {
        data: { name: 'c1', kubeconfig: kubeconfig('http://a', { user: { tokenFile: 'x' } }) },
      },
      target: CLUSTER,
      because:
        'the kubeconfig is refused: clusters[0].cluster.server must be an https URL of host, port and path; users[0].user.tokenFile names a file: a kubeconfig from a value holds its data inline',
    },
    {
      name: 'a kubeconfig that is none',
      parts: { data: { name: 'c1', kubeconfig: 'a: [' } },
      target: CLUSTER,
      because: 'the kubeconfig is unreadable',
    },
    {
      name: 'a cluster with a project',
      parts: { data: { name: 'c1', project: 'p', kubeconfig: kubeconfig() } },
      target: CLUSTER,
      because: 'project is not for a cluster',
    },
    {
      name: 'a virtual cluster without a project',
      parts: { label: 'virtualcluster', data: { name: 'v', kubeconfig: kubeconfig() } },
      because: 'project is missing',
    },
    {
      name: 'a space with a kubeconfig',
      parts: { label: 'space', data: { ...SPACE_DATA, kubeconfig: kubeconfig() } },
      target: SPACE,
      because: 'kubeconfig is not for a space',
    },
    {
      name: 'a space with faults in each field',
      parts: { label: 'space', data: { name: 's', project: 'P', cluster: '-', namespace: 'a.b' } },
      because: `project ${NAME}; cluster ${NAME}; namespace must be the name of a namespace`,
    },
    {
      name: 'a space without its place',
      parts: { label: 'space', data: { name: 's', project: 'p' } },
      target: SPACE,
      because: 'cluster is missing; namespace is missing',
    },
  ])('every fault of a Secret is named: $name (9.1, 9.5)', ({ parts, target = null, because }) => {
    expect(definitionOf(targetSecret(parts), false)).toEqual({ kind: 'invalid', target, because })
  })

  test('binary data are a fault (9.5)', () => {
    const secret = targetSecret()
    const data = { ...secret.data, name: '/w==' }
    const because = 'name must be UTF-8'
    expect(definitionOf({ ...secret, data }, false)).toEqual({
      kind: 'invalid',
      target: null,
      because,
    })
    const { data: _, ...bare } = secret
    expect(definitionOf(bare, false)).toMatchObject({ kind: 'invalid' })
  })

  test('no fault quotes a value (9.5)', () => {
    const planted = plantCanary('value')
    const { secret } = planted
    const said = ['name', 'project', 'cluster', 'namespace', 'kubeconfig'].map((field) =>
      definitionOf(
        targetSecret({ label: 'space', data: { ...SPACE_DATA, [field]: `${secret}\n${secret}` } }),
        false,
      ),
    )
    expect(said.map(({ kind }) => kind)).toEqual(said.map(() => 'invalid'))
    const texts = said.map((one) => (one.kind === 'invalid' ? one.because : ''))
    expect(findCanaries({ texts: texts.join('\n') }, [planted])).toEqual([])
  })
})

describe('at a direct endpoint, a Secret defines', () => {
  const ofVirtual = { name: 'v', project: 'p', kubeconfig: kubeconfig() }
  const inOwn = { kind: 'space', cluster: 'own', namespace: 'shop' }
  const { cluster: _, ...withoutCluster } = SPACE_DATA
  test.each<{ name: string; parts: SecretParts; defines: object }>([
    {
      name: 'a virtual cluster',
      parts: { label: 'virtualcluster', data: ofVirtual },
      defines: {
        kind: 'valid',
        target: VIRTUAL,
        access: { kind: 'kubeconfig', text: kubeconfig() },
      },
    },
    {
      name: 'a space, whatever its cluster is',
      parts: { label: 'space', data: SPACE_DATA },
      defines: { kind: 'valid', target: SPACE, access: inOwn },
    },
    {
      name: 'a space with a cluster that has no valid name',
      parts: { label: 'space', data: { ...SPACE_DATA, cluster: '-' } },
      defines: { kind: 'valid', target: SPACE, access: inOwn },
    },
    {
      name: 'a space without a cluster',
      parts: { label: 'space', data: withoutCluster },
      defines: { kind: 'valid', target: SPACE, access: inOwn },
    },
    {
      name: 'no space without a namespace',
      parts: { label: 'space', data: { name: 's', project: 'p' } },
      defines: { kind: 'invalid', target: SPACE, because: 'namespace is missing' },
    },
    {
      name: 'no virtual cluster with a cluster',
      parts: { label: 'virtualcluster', data: { ...ofVirtual, cluster: 'c1' } },
      defines: {
        kind: 'invalid',
        target: VIRTUAL,
        because: 'cluster is not for a virtualcluster',
      },
    },
    {
      name: 'no cluster',
      parts: {},
      defines: {
        kind: 'invalid',
        target: CLUSTER,
        because: 'a direct endpoint serves no other cluster',
      },
    },
  ])('$name (9.2, 9.5)', ({ parts, defines }) => {
    expect(definitionOf(targetSecret(parts), true)).toEqual(defines)
  })
})

describe('targets of several Secrets', () => {
  const decide = (...secrets: readonly SecretParts[]) => {
    const read = secrets.map((parts) => {
      const secret = targetSecret(parts)
      const { name, uid, resourceVersion } = secret.metadata
      return { name, uid, resourceVersion, definition: definitionOf(secret, false) }
    })
    return [...decideTargets(read).values()].map(({ target, kind, secrets: of }) => ({
      key: targetKey(target),
      kind,
      of: of.map(({ name }) => name),
    }))
  }
  const data = (name: string, project?: string) => ({
    name,
    ...(project === undefined ? {} : { project }),
    kubeconfig: kubeconfig(),
  })
  const ofProject = (name: string, project: string, label = 'virtualcluster') => ({
    label,
    data: { ...data(name, project), name },
  })

  test.each<{ name: string; secrets: readonly SecretParts[]; decided: readonly object[] }>([
    {
      name: 'one each',
      secrets: [{ name: 'x' }, { name: 'y', data: data('c2') }],
      decided: [
        { key: '["cluster","","c1"]', kind: 'valid', of: ['x'] },
        { key: '["cluster","","c2"]', kind: 'valid', of: ['y'] },
      ],
    },
    {
      name: 'two for one target, in the order of their names',
      secrets: [{ name: 'y' }, { name: 'x' }],
      decided: [{ key: '["cluster","","c1"]', kind: 'conflict', of: ['x', 'y'] }],
    },
    {
      name: 'two for one target, of which one is invalid',
      secrets: [{ name: 'x' }, { name: 'y', data: { name: 'c1' } }],
      decided: [{ key: '["cluster","","c1"]', kind: 'conflict', of: ['x', 'y'] }],
    },
    {
      name: 'an invalid one',
      secrets: [{ data: { name: 'c1' } }],
      decided: [{ key: '["cluster","","c1"]', kind: 'invalid', of: ['c1'] }],
    },
    { name: 'one that names no target', secrets: [{ label: 'x' }], decided: [] },
    {
      name: 'names that are the same when joined, and kinds of one name',
      secrets: [
        { name: 'a', ...ofProject('c', 'a-b') },
        { name: 'b', ...ofProject('b-c', 'a') },
        { name: 'c', label: 'space', data: { ...SPACE_DATA, name: 'c', project: 'a-b' } },
        { name: 'd', data: data('c') },
      ],
      decided: [
        { key: '["virtualcluster","a-b","c"]', kind: 'valid', of: ['a'] },
        { key: '["virtualcluster","a","b-c"]', kind: 'valid', of: ['b'] },
        { key: '["space","a-b","c"]', kind: 'valid', of: ['c'] },
        { key: '["cluster","","c"]', kind: 'valid', of: ['d'] },
      ],
    },
  ])('$name (9.5)', ({ secrets, decided }) => {
    expect(decide(...secrets)).toEqual(decided)
  })
})
