/** @module-tag no-retry */
import { describe, expect, test } from 'vitest'
import { nextPage } from '../../../../../src/signin/providers/source-host-a/pages.ts'

const HERE = 'https://api.github.com/user/teams?per_page=100'
const NEXT = 'https://api.github.com/user/teams?per_page=100&page=2'

// biome-ignore format: a table
describe('the page after this one, by header Link (25.6, SD)', () => {
  test.each<{ name: string; link: string | null; next: ReturnType<typeof nextPage> }>([
    { name: 'no header', link: null, next: { kind: 'end' } },
    { name: 'an empty header', link: '', next: { kind: 'end' } },
    { name: 'the header of the last page', link: `<${HERE}>; rel="prev", <${HERE}>; rel="first"`, next: { kind: 'end' } },
    { name: 'the header of GitHub', link: `<${NEXT}>; rel="next", <${NEXT}0>; rel="last"`, next: { kind: 'page', url: NEXT } },
    { name: 'next after others', link: `<${HERE}>; rel="first", <${NEXT}>; rel="next"`, next: { kind: 'page', url: NEXT } },
    { name: 'next without quotes', link: `<${NEXT}>;rel=next`, next: { kind: 'page', url: NEXT } },
    { name: 'next in capitals', link: `<${NEXT}>; REL="Next"`, next: { kind: 'page', url: NEXT } },
    { name: 'next among other relations', link: `<${NEXT}>; title="a"; rel="last next"`, next: { kind: 'page', url: NEXT } },
    { name: 'a relation that begins with next', link: `<${NEXT}>; rel="next-week"`, next: { kind: 'end' } },
    { name: 'next in another parameter', link: `<${NEXT}>; title="next"`, next: { kind: 'end' } },
    { name: 'a relative address', link: '</user/teams?per_page=100&page=2>; rel="next"', next: { kind: 'page', url: NEXT } },
    { name: 'another host', link: '<https://evil.example/user/teams>; rel="next"', next: { kind: 'elsewhere' } },
    { name: 'another host without a scheme', link: '<//evil.example/user/teams>; rel="next"', next: { kind: 'elsewhere' } },
    { name: 'another port', link: '<https://api.github.com:8443/user/teams>; rel="next"', next: { kind: 'elsewhere' } },
    { name: 'http', link: '<http://api.github.com/user/teams>; rel="next"', next: { kind: 'elsewhere' } },
    { name: 'our host as a user name', link: '<https://api.github.com@evil.example/>; rel="next"', next: { kind: 'elsewhere' } },
    { name: 'no address', link: '<https://>; rel="next"', next: { kind: 'elsewhere' } },
  ])('$name', ({ link, next }) => {
    expect(nextPage(link, HERE)).toEqual(next)
  })

  test.each([
    ['parameters', `<${HERE}>${';'.repeat(16_000)}`],
    ['spaces', `<${HERE}>; rel=${' '.repeat(16_000)}`],
    ['links that do not end', '<'.repeat(16_000)],
    ['links that have no parameters', '<>'.repeat(8_000)],
  ])('takes no turn of the event loop with 16 KB of %s', (_, link) => {
    // The best of three: another process may take the machine meanwhile.
    const tookMs = [1, 2, 3].map(() => {
      const startedMs = performance.now()
      expect(nextPage(link, HERE)).toEqual({ kind: 'end' })
      return performance.now() - startedMs
    })
    expect(Math.min(...tookMs)).toBeLessThan(100)
  })
})
