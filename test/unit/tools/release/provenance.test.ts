import { expect, test } from 'vitest'
import { provenanceOf } from '../../../../tools/release/provenance.ts'
import { digestsOf, sumsText } from '../../../../tools/release/sums.ts'

const FILES = new Map([
  ['install.yaml', Buffer.from('b')],
  ['chart.tgz', Buffer.from('a')],
])
const A = 'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb'
const B = '3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d'

test('sums are in the order of names, as sha256sum writes them (34.4)', () => {
  expect(sumsText(digestsOf(FILES))).toBe(`${A}  chart.tgz\n${B}  install.yaml\n`)
})

test('provenance names each file by its digest, the commit and the image (34.4)', () => {
  const commit = '0123456789012345678901234567890123456789'
  const statement = provenanceOf(digestsOf(FILES), {
    repository: 'https://git.example.com/platform/management-operator',
    commit,
    image: `registry.example.com/mo@sha256:${A}`,
    node: '24.21.0',
  })
  expect(statement).toMatchObject({
    _type: 'https://in-toto.io/Statement/v1',
    predicateType: 'https://slsa.dev/provenance/v1',
    subject: [
      { name: 'chart.tgz', digest: { sha256: A } },
      { name: 'install.yaml', digest: { sha256: B } },
    ],
    predicate: {
      buildDefinition: {
        externalParameters: { image: `registry.example.com/mo@sha256:${A}` },
        resolvedDependencies: [{ digest: { gitCommit: commit } }],
      },
    },
  })
})
