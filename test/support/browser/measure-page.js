// Measures a page from inside: see page-looks.ts.
;(() => {
  const colourOf = (text) => {
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true })
    if (canvas === null) return []
    canvas.fillStyle = text
    canvas.fillRect(0, 0, 1, 1)
    return [...canvas.getImageData(0, 0, 1, 1).data]
  }
  const backgroundOf = (element) => {
    if (element === null) return [255, 255, 255, 255]
    const colour = colourOf(getComputedStyle(element).backgroundColor)
    return colour[3] === 255 ? colour : backgroundOf(element.parentElement)
  }
  const labelOf = (element) =>
    `${element.tagName.toLowerCase()} ${(element.textContent ?? '').trim().slice(0, 40)}`
  const all = [...document.body.querySelectorAll('*')]
  const hasText = (element) =>
    [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent?.trim() !== '')
  const seen = all.filter((element) => element.getClientRects().length > 0)
  return {
    overflow: document.documentElement.scrollWidth - innerWidth,
    targets: seen
      .filter((element) => element.matches('button, .button, input'))
      .map((element) => {
        const { width, height } = element.getBoundingClientRect()
        return { label: labelOf(element), width, height }
      }),
    texts: seen
      .filter((element) => hasText(element) || element.matches('input'))
      .map((element) => ({
        label: labelOf(element),
        colour: colourOf(getComputedStyle(element).color),
        background: backgroundOf(element),
      })),
  }
})()
