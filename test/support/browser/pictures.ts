// Pictures of pages in docs/, which tests take: written where UPDATE_FROM_CHROMIUM is 1, else held against the page.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'

const DOCS = join(import.meta.dirname, '../../../docs')

/**
 * How much the page differs from its picture, which is written first where UPDATE_FROM_CHROMIUM is 1.
 *
 * @param path of the picture, below docs/
 * @returns the share of pixels, and 1 where the sizes differ; versions of Chromium draw edges of letters differently
 */
export async function pictureDifference(page: Page, path: string): Promise<number> {
  const file = join(DOCS, path)
  const taken = await page.screenshot({ animations: 'disabled', caret: 'hide' })
  if (process.env['UPDATE_FROM_CHROMIUM'] === '1') writeFileSync(file, taken)
  const images = [readFileSync(file), taken].map((image) => image.toString('base64'))
  const blank = await page.context().newPage()
  const share = await blank.evaluate<number>(`(${COMPARE})(${JSON.stringify(images)})`)
  await blank.close()
  return share
}

/** Runs in a page, which can decode pictures. */
const COMPARE = `async (images) => {
  const [one, other] = await Promise.all(images.map(async (image) => {
    const picture = new Image()
    picture.src = 'data:image/png;base64,' + image
    await picture.decode()
    const { width, height } = picture
    const canvas = new OffscreenCanvas(width, height).getContext('2d')
    canvas.drawImage(picture, 0, 0)
    return canvas.getImageData(0, 0, width, height)
  }))
  if (one.width !== other.width || one.height !== other.height) return 1
  let different = 0
  for (let at = 0; at < one.data.length; at += 4)
    if ([0, 1, 2].some((part) => Math.abs(one.data[at + part] - other.data[at + part]) > 32))
      different += 1
  return different / (one.width * one.height)
}`
