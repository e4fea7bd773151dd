import { expect, test } from 'vitest'
import { type Publication, publicationFaults } from '../../../../tools/release/ready.ts'
import { digestsOf, type ReleaseFiles, sumsText } from '../../../../tools/release/sums.ts'

const IMAGE = `registry.example.com/mo@sha256:${'1'.repeat(64)}`
const ANOTHER = `registry.example.com/mo@sha256:${'2'.repeat(64)}`
const PUBLICATION: Publication = { version: '1.2.3', charts: ['mo', 'mo-agent'], image: IMAGE }
const PROVENANCE = JSON.stringify({
  predicate: { buildDefinition: { externalParameters: { image: IMAGE } } },
})

/** A release of these files, each with its sum. */
function release(names: readonly string[]): ReleaseFiles {
  const files = new Map(
    names.map((name) => [name, Buffer.from(name.startsWith('provenance') ? PROVENANCE : name)]),
  )
  return files.set('SHA256SUMS', Buffer.from(sumsText(digestsOf(files))))
}

const WHOLE = ['mo-1.2.3.tgz', 'mo-agent-1.2.3.tgz', 'provenance.intoto.json']

test.each([
  { name: 'signed with the image that it names', image: IMAGE },
  { name: 'pushed, which takes no image', image: null },
])('a release can be $name (34.4)', ({ image }) => {
  expect(publicationFaults(release(WHOLE), { ...PUBLICATION, image })).toEqual([])
})

test.each([
  {
    name: 'without dist/',
    files: null,
    change: {},
    faults: ['dist/ is missing: run make release'],
  },
  {
    name: 'of another version',
    files: release(WHOLE),
    change: { version: '1.3.0' },
    faults: [
      'dist/ has mo-1.2.3.tgz, mo-agent-1.2.3.tgz, and package.json has version 1.3.0: check out the commit of the release, or run make release again',
    ],
  },
  {
    name: 'that lacks a chart',
    files: release(['mo-1.2.3.tgz', 'provenance.intoto.json']),
    change: {},
    faults: ['dist/ has no mo-agent-1.2.3.tgz: run make release again'],
  },
  {
    name: 'with another image than the manifests have',
    files: release(WHOLE),
    change: { image: ANOTHER },
    faults: [
      `IMAGE is ${ANOTHER}, and the manifests of dist/ have ${IMAGE}: sign that one, or run make release with this one`,
    ],
  },
  {
    name: 'without a provenance that names its image',
    files: release(['mo-1.2.3.tgz', 'mo-agent-1.2.3.tgz']),
    change: {},
    faults: ['dist/ has no provenance.intoto.json: run make release again'],
  },
  {
    name: 'with a file without a sum',
    files: new Map([...release(WHOLE), ['notes.md', Buffer.from('')]]),
    change: {},
    faults: ['dist/: notes.md is not in SHA256SUMS: run make release again'],
  },
])('a release $name is not published (34.4)', ({ files, change, faults }) => {
  expect(publicationFaults(files, { ...PUBLICATION, ...change })).toEqual(faults)
})

test('all faults are named at once (34.4)', () => {
  const files = new Map([...release(WHOLE), ['notes.md', Buffer.from('')]])
  const publication = { ...PUBLICATION, version: '1.3.0', image: ANOTHER }
  expect(publicationFaults(files, publication)).toHaveLength(3)
})
