import { expect, test } from 'vitest'
import { pushCommands, signCommands } from '../../../../tools/release/publish.ts'

const OFFLINE = [
  '--yes',
  '--key=cosign.key',
  '--signing-config=tools/release/offline/signing-config.json',
  '--trusted-root=tools/release/offline/trusted-root.json',
]
const image = `registry.example.com/mo@sha256:${'0'.repeat(64)}`

test('the sums and the image are signed by a key without a transparency log (34.4)', () => {
  expect(signCommands({ cosign: 'cosign', image, key: 'cosign.key' })).toEqual([
    [
      'cosign',
      'sign-blob',
      ...OFFLINE,
      '--bundle=dist/SHA256SUMS.sigstore.json',
      'dist/SHA256SUMS',
    ],
    ['cosign', 'sign', ...OFFLINE, image],
  ])
})

test('the identity of the caller signs without a key (34.4)', () => {
  expect(signCommands({ cosign: 'cosign', image, key: null })).toEqual([
    ['cosign', 'sign-blob', '--yes', '--bundle=dist/SHA256SUMS.sigstore.json', 'dist/SHA256SUMS'],
    ['cosign', 'sign', '--yes', image],
  ])
})

test('each chart is pushed by Helm (34.4)', () => {
  expect(pushCommands('helm', ['a.tgz', 'b.tgz'], 'oci://registry.example.com/charts')).toEqual([
    ['helm', 'push', 'dist/a.tgz', 'oci://registry.example.com/charts'],
    ['helm', 'push', 'dist/b.tgz', 'oci://registry.example.com/charts'],
  ])
})
