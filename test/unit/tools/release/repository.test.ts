import { expect, test } from 'vitest'
import { parseRepository } from '../../../../tools/release/repository.ts'

test('a repository is a https URL', () => {
  const url = 'https://git.example.com/platform/management-operator'
  expect(parseRepository(url)).toBe(url)
  for (const text of ['', 'git@git.example.com:mo.git', 'http://git.example.com/mo'])
    expect(() => parseRepository(text)).toThrow('REPOSITORY is not a https:// URL')
})

test('a token in the URL of the repository is refused, and not shown (34.4)', () => {
  for (const user of ['ci:canary-1', 'canary-1']) {
    const parse = () => parseRepository(`https://${user}@git.example.com/mo`)
    expect(parse).toThrow('REPOSITORY has a user or a token')
    expect(parse).not.toThrow('canary-1')
  }
})
