import { describe, expect, test } from 'vitest'
import { findCanaries, plantCanary } from '../../../support/canary.ts'
import { syncerCommandLines } from './command-lines.ts'

const { file, configOf, objectOf, attempt } = syncerCommandLines()

describe('what try hides (16.1)', () => {
  const { secret } = plantCanary('key')
  const base64 = Buffer.from(secret).toString('base64')
  const aSecret = objectOf('Secret', { data: { a: base64, b: 'eA==' }, stringData: { c: secret } })
  const configuredWith = (...patches: readonly object[]): string =>
    file(`configured-${Math.random()}.yaml`, {
      token: secret,
      sync: { toHost: { endpoints: { patches } } },
    })
  const configured = configuredWith(
    { path: 'metadata.labels.app', expression: 'context.virtualCluster.config.token' },
    { path: 'metadata.labels.other', expression: 'JSON.stringify(context)' },
  )
  const endpoints = objectOf('Endpoints', {
    metadata: { name: 'web', labels: { app: 'x', other: 'y' } },
  })
  test.each<{ name: string; config: string; object: string; shows: string }>([
    {
      name: 'values of a Secret that a patch changes',
      config: configOf('secrets', { path: 'data.a', expression: 'btoa(atob(value) + "x")' }),
      object: aSecret,
      shows: '+  a: "(hidden, changed)"',
    },
    {
      name: 'values of a Secret in another field',
      config: configOf('secrets', {
        path: 'metadata.labels.app',
        expression: 'context.virtualObject.data.a',
      }),
      object: aSecret,
      shows: '+    app: "(hidden, changed)"',
    },
    {
      name: 'values of a Secret in an error',
      config: configOf('secrets', {
        path: 'data.a',
        expression: '(() => { throw new Error(atob(value)) })()',
      }),
      object: aSecret,
      shows: 'patches[0] at data.a: Error\n',
    },
    {
      name: 'values of a Secret in the name of an error',
      config: configOf('secrets', {
        path: 'stringData.c',
        expression: '(() => { throw { name: value, message: value } })()',
      }),
      object: aSecret,
      shows: 'patches[0] at stringData.c: it threw an error\n',
    },
    {
      name: 'values of a Secret in the annotation of kubectl apply',
      config: configOf('secrets', { path: 'data.a', expression: '"eA=="' }),
      object: objectOf('Secret', {
        metadata: {
          name: 'web',
          annotations: {
            'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify({
              data: { a: base64 },
            }),
          },
        },
        data: { a: base64 },
      }),
      shows: '+  a: "(hidden, changed)"',
    },
    {
      name: 'values of the configuration in an element that a removal moves',
      config: configuredWith({
        path: 'subsets[*]',
        expression:
          'value.addresses[0].ip === "x" ? undefined : { addresses: [{ ip: context.virtualCluster.config.token }] }',
      }),
      object: objectOf('Endpoints', {
        subsets: [{ addresses: [{ ip: 'x' }] }, { addresses: [{ ip: 'y' }] }],
      }),
      shows: '+subsets: "(hidden, changed)"',
    },
    {
      name: 'values of the configuration that a later patch copies',
      config: configuredWith(
        { path: 'metadata.labels.app', expression: 'context.virtualCluster.config.token' },
        { path: 'metadata.labels', expression: '{ ...value, copy: value.app }' },
      ),
      object: endpoints,
      shows: '+  labels: "(hidden, changed)"',
    },
    {
      name: 'values of the configuration in an error',
      config: configuredWith({
        path: 'metadata.labels.app',
        expression: '(() => { throw new Error(context.virtualCluster.config.token) })()',
      }),
      object: endpoints,
      shows: 'patches[0] at metadata.labels.app: Error\n',
    },
    {
      name: 'values of the configuration in an error of a later patch',
      config: configuredWith(
        { path: 'metadata.labels.app', expression: 'context.virtualCluster.config.token' },
        { path: 'metadata.labels', expression: '(() => { throw new Error(value.app) })()' },
      ),
      object: endpoints,
      shows: 'patches[1] at metadata.labels: Error\n',
    },
    {
      name: 'values of the configuration',
      config: configured,
      object: endpoints,
      shows: '+    app: "(hidden, changed)"',
    },
  ])('$name', async ({ config, object, shows }) => {
    const canaries = [
      { label: 'plain', secret },
      { label: 'base64', secret: base64 },
    ]
    const diff = await attempt(config, object)
    expect(`${diff.stdout}${diff.stderr}`).toContain(shows)
    const yaml = await attempt(config, object, '--output=yaml')
    const sinks = { ...diff, yaml: yaml.stdout, yamlErrors: yaml.stderr, code: '' }
    expect(findCanaries(sinks, canaries)).toEqual([])
    const shown = await attempt(config, object, '--show-secrets')
    expect(
      findCanaries({ all: `${shown.stdout}${shown.stderr}` }, [
        { label: 'key', secret },
        { label: 'key', secret: base64 },
      ]),
    ).not.toEqual([])
  })
})
