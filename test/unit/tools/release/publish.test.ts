import { expect, test } from 'vitest'
import {
  parseDryRun,
  pushCommands,
  shownCommand,
  signCommands,
} from '../../../../tools/release/publish.ts'

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

test('a command is printed as a shell reads it (34.4)', () => {
  const command = ['cosign', 'sign', '--key=my keys/a.key', "it's", 'oci://r.example.com:5000/a@b']
  expect(shownCommand(command as [string, ...string[]])).toBe(
    "cosign sign '--key=my keys/a.key' 'it'\\''s' oci://r.example.com:5000/a@b",
  )
})

test('only DRY_RUN=1 is a dry run, and another word is none of both (34.4)', () => {
  expect([parseDryRun(''), parseDryRun('1')]).toEqual([false, true])
  for (const word of ['true', 'yes', '0', '1 '])
    expect(() => parseDryRun(word)).toThrow(`DRY_RUN is ${JSON.stringify(word)}: write 1`)
})
