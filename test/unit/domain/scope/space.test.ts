// Requests on the path of a space, whatever the scope (contract 11.9).
import { describe, expect, test } from 'vitest'
import { authorizeInSpace } from '../../../../src/domain/scope/authorize.ts'
import type { RequestInfo } from '../../../../src/domain/scope/request-info.ts'

const target = { kind: 'ProjectSpace', project: 'p', space: 's' } as const

const resource = (verb: string, name: string, parts: object = {}): RequestInfo => ({
  target,
  verb,
  group: '',
  version: 'v1',
  resource: name,
  subresource: '',
  namespace: 'team',
  name: 'x',
  ...parts,
})

const NAMESPACE = { namespace: 'team', name: 'team' }

describe('a request on the path of a space whose namespace is team', () => {
  test.each([
    { name: 'a Pod there', request: resource('get', 'pods') },
    { name: 'its log', request: resource('get', 'pods', { subresource: 'log' }) },
    { name: 'a list there', request: resource('list', 'secrets', { name: '' }) },
    { name: 'a create of any group', request: resource('create', 'things', { group: 'x.io' }) },
    { name: 'exec', request: resource('create', 'pods', { subresource: 'exec' }) },
    { name: 'get of its Namespace', request: resource('get', 'namespaces', NAMESPACE) },
    { name: 'discovery', request: { target, verb: 'get', path: '/apis/apps/v1' } },
    { name: 'the version', request: { target, verb: 'get', path: '/version' } },
    {
      name: 'a self review',
      request: resource('create', 'selfsubjectaccessreviews', {
        group: 'authorization.k8s.io',
        namespace: '',
        name: '',
      }),
    },
  ])('passes: $name (11.9)', ({ request }) => {
    expect(authorizeInSpace('team', request)).toEqual({ allowed: true })
  })

  test.each([
    { name: 'another namespace', request: resource('get', 'pods', { namespace: 'team2' }) },
    { name: 'its case', request: resource('get', 'pods', { namespace: 'Team' }) },
    { name: 'all namespaces', request: resource('list', 'pods', { namespace: '', name: '' }) },
    { name: 'a Node', request: resource('get', 'nodes', { namespace: '' }) },
    {
      name: 'a proxy of a Node',
      request: resource('get', 'nodes', { namespace: '', subresource: 'proxy' }),
    },
    {
      name: 'a list of namespaces',
      request: resource('list', 'namespaces', { namespace: '', name: '' }),
    },
    {
      name: 'a list of its name',
      request: resource('list', 'namespaces', { namespace: '', name: 'team' }),
    },
    { name: 'a change of its Namespace', request: resource('patch', 'namespaces', NAMESPACE) },
    { name: 'its end', request: resource('delete', 'namespaces', NAMESPACE) },
    {
      name: 'finalize',
      request: resource('update', 'namespaces', { ...NAMESPACE, subresource: 'finalize' }),
    },
    {
      name: 'a subresource of its Namespace',
      request: resource('get', 'namespaces', { ...NAMESPACE, subresource: 'status' }),
    },
    {
      name: 'a kind of another group that is called namespaces',
      request: resource('get', 'namespaces', { ...NAMESPACE, group: 'x.io' }),
    },
    {
      name: 'another Namespace',
      request: resource('get', 'namespaces', { namespace: 'team2', name: 'team2' }),
    },
    { name: 'metrics of the API server', request: { target, verb: 'get', path: '/metrics' } },
    { name: 'a write of a path', request: { target, verb: 'post', path: '/api' } },
    {
      name: 'a review of others',
      request: resource('create', 'subjectaccessreviews', {
        group: 'authorization.k8s.io',
        namespace: '',
      }),
    },
  ])('is outside: $name (11.9)', ({ request }) => {
    expect(authorizeInSpace('team', request)).toMatchObject({
      allowed: false,
      because: expect.stringMatching(/ is outside the space$/),
    })
  })
})
