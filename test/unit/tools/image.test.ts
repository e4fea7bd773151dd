import { expect, test } from 'vitest'
import { imageOverride } from '../../../tools/install/image.ts'

const DIGEST = `sha256:${'0a'.repeat(32)}`

test.each([
  { image: 'operator', newName: 'operator' },
  { image: 'operator:1.2', newName: 'operator', newTag: '1.2' },
  { image: 'localhost:5000/operator', newName: 'localhost:5000/operator' },
  {
    image: 'registry.example.com:5000/a/b_c:v1-rc.1',
    newName: 'registry.example.com:5000/a/b_c',
    newTag: 'v1-rc.1',
  },
  { image: `a/b@${DIGEST}`, newName: 'a/b', digest: DIGEST },
  { image: `a/b:1@${DIGEST}`, newName: 'a/b', digest: DIGEST },
])('$image', ({ image, ...expected }) => {
  expect(imageOverride(image)).toEqual({ name: 'management-operator', ...expected })
})

test.each(['', 'a b', 'a:', 'a@sha256:0', 'a/:1', '/a', 'a\n'])('%j is no image', (image) => {
  expect(() => imageOverride(image)).toThrow(/^no image .*: give name, name:tag or name@sha256/)
})
