import { describe, expect, test } from 'vitest'
import { readXml, type XmlElement } from '../../../../../src/signin/providers/saml/xml.ts'

/** The outermost element, as a value that is easy to compare. */
const read = (text: string) => {
  const { attributes, children, ...element } = readXml(text)
  return { ...element, attributes: Object.fromEntries(attributes), children: children.length }
}

const faultIn = (text: string): unknown => {
  try {
    return readXml(text)
  } catch (error) {
    return (error as { because?: string }).because
  }
}

describe('XML that is read', () => {
  test.each<{ name: string; text: string; found: Partial<ReturnType<typeof read>> }>([
    { name: 'an empty element', text: '<a/>', found: { name: 'a', namespace: '', text: '' } },
    { name: 'a start and an end', text: '<a></a>', found: { name: 'a', children: 0 } },
    {
      name: 'a declaration',
      text: '<?xml version="1.0" encoding="UTF-8"?>\n<a/>',
      found: { name: 'a' },
    },
    {
      name: 'a declaration in apostrophes',
      text: "<?xml version='1.0' encoding='utf-8' standalone='no' ?><a/>",
      found: { name: 'a' },
    },
    { name: 'white space around', text: ' \n<a/>\n ', found: { name: 'a' } },
    { name: 'a text', text: '<a>b &amp; c</a>', found: { text: 'b & c' } },
    {
      name: 'predefined entities',
      text: '<a>&lt;&gt;&amp;&quot;&apos;</a>',
      found: { text: '<>&"\'' },
    },
    {
      name: 'characters by number',
      text: '<a>&#65;&#x42;&#x1F600;&#13;</a>',
      found: { text: 'AB😀\r' },
    },
    { name: 'an entity once, not twice', text: '<a>&amp;lt;</a>', found: { text: '&lt;' } },
    { name: 'text beside elements', text: '<a>b<c>d</c>e</a>', found: { text: 'be', children: 1 } },
    { name: 'attributes', text: `<a b="1" c = '2"'/>`, found: { attributes: { b: '1', c: '2"' } } },
    {
      name: 'white space in an attribute',
      text: '<a b="1\n\t2&#10;"/>',
      found: { attributes: { b: '1  2\n' } },
    },
    {
      name: 'a default namespace',
      text: '<a xmlns="urn:a" b="1"/>',
      found: { namespace: 'urn:a', attributes: { b: '1' } },
    },
    {
      name: 'a prefix',
      text: '<p:a xmlns:p="urn:a" p:b="1" b="2"/>',
      found: { namespace: 'urn:a', name: 'a', attributes: { '{urn:a}b': '1', b: '2' } },
    },
    {
      name: 'the prefix xml',
      text: '<a xml:lang="de"/>',
      found: { attributes: { '{http://www.w3.org/XML/1998/namespace}lang': 'de' } },
    },
    {
      name: 'letters beyond ASCII',
      text: '<a b="ä">日本</a>',
      found: { text: '日本', attributes: { b: 'ä' } },
    },
  ])('has $name (25.6)', ({ text, found }) => {
    expect(read(text)).toMatchObject(found)
  })

  test('gives each element the namespaces that hold there (25.6)', () => {
    const { children } = readXml(
      '<a xmlns="urn:a" xmlns:p="urn:p"><b xmlns=""><c/></b><p:d xmlns:p="urn:q"/><p:e/></a>',
    )
    const inside = (element?: XmlElement) => element && [element.namespace, element.name]
    expect(children.map(inside)).toEqual([
      ['', 'b'],
      ['urn:q', 'd'],
      ['urn:p', 'e'],
    ])
    expect(inside(children[0]?.children[0])).toEqual(['', 'c'])
  })
})

describe('XML that is refused', () => {
  test.each<{ name: string; text: string; fault: string }>([
    { name: 'a DOCTYPE', text: '<!DOCTYPE a><a/>', fault: 'has a DOCTYPE' },
    {
      name: 'an entity that expands',
      text: '<!DOCTYPE a [<!ENTITY e "eeee"><!ENTITY f "&e;&e;">]><a>&f;</a>',
      fault: 'has a DOCTYPE',
    },
    {
      name: 'an external entity',
      text: '<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><a>&e;</a>',
      fault: 'has a DOCTYPE',
    },
    { name: 'a DOCTYPE inside', text: '<a><!DOCTYPE a></a>', fault: 'has a DOCTYPE' },
    {
      name: 'an unknown entity',
      text: '<a>&e;</a>',
      fault: 'has an entity that is not predefined',
    },
    {
      name: 'an entity of HTML',
      text: '<a>&nbsp;</a>',
      fault: 'has an entity that is not predefined',
    },
    {
      name: 'an entity in an attribute',
      text: '<a b="&e;"/>',
      fault: 'has an entity that is not predefined',
    },
    {
      name: 'a bare ampersand',
      text: '<a>b & c</a>',
      fault: 'has an entity that is not predefined',
    },
    {
      name: 'an entity without an end',
      text: '<a>&amp</a>',
      fault: 'has an entity that is not predefined',
    },
    {
      name: 'a number of no character',
      text: '<a>&#0;</a>',
      fault: 'has an entity that is not predefined',
    },
    {
      name: 'a number of half a character',
      text: '<a>&#xD800;</a>',
      fault: 'has an entity that is not predefined',
    },
    {
      name: 'a number beyond characters',
      text: '<a>&#x110000;</a>',
      fault: 'has an entity that is not predefined',
    },
    {
      name: 'a number with a large X',
      text: '<a>&#X41;</a>',
      fault: 'has an entity that is not predefined',
    },
    {
      name: 'the end of a CDATA section',
      text: '<a>]]></a>',
      fault: 'has an entity that is not predefined',
    },
    { name: 'a comment in a text', text: '<a>ad<!-- -->a</a>', fault: 'has a comment' },
    { name: 'a comment between elements', text: '<a><!-- --><b/></a>', fault: 'has a comment' },
    { name: 'a comment outside', text: '<a/><!-- -->', fault: 'has a comment' },
    { name: 'a CDATA section', text: '<a><![CDATA[b]]></a>', fault: 'has a CDATA section' },
    {
      name: 'a processing instruction',
      text: '<a>ad<?p ?>a</a>',
      fault: 'has a processing instruction',
    },
    {
      name: 'a stylesheet',
      text: '<?xml version="1.0"?><?xml-stylesheet href="a"?><a/>',
      fault: 'has a processing instruction',
    },
    {
      name: 'a declaration that is not first',
      text: ' <?xml version="1.0"?><a/>',
      fault: 'has a processing instruction',
    },
    {
      name: 'another encoding',
      text: '<?xml version="1.0" encoding="ISO-8859-1"?><a/>',
      fault: 'has a processing instruction',
    },
    { name: 'XML 1.1', text: '<?xml version="1.1"?><a/>', fault: 'has a processing instruction' },
    { name: 'nothing', text: '', fault: 'ends too early' },
    { name: 'a text', text: 'a', fault: 'has a text outside its element' },
    { name: 'a text behind', text: '<a/>b', fault: 'has a text outside its element' },
    {
      name: 'two outermost elements',
      text: '<a/><a/>',
      fault: 'has more than one outermost element',
    },
    { name: 'no end', text: '<a><b></b>', fault: 'ends too early' },
    { name: 'half a tag', text: '<a', fault: 'has a malformed tag' },
    {
      name: 'an end of another element',
      text: '<a></b>',
      fault: 'has a tag that ends another element',
    },
    {
      name: 'an end of another prefix',
      text: '<p:a xmlns:p="u" xmlns:q="u"></q:a>',
      fault: 'has a tag that ends another element',
    },
    {
      name: 'ends that cross',
      text: '<a><b></a></b>',
      fault: 'has a tag that ends another element',
    },
    { name: 'an end too much', text: '<a/></a>', fault: 'has a tag that ends another element' },
    {
      name: 'an end with attributes',
      text: '<a></a b="1">',
      fault: 'has a tag that ends another element',
    },
    { name: 'an attribute without quotes', text: '<a b=1/>', fault: 'has a malformed tag' },
    { name: 'an attribute without a value', text: '<a b/>', fault: 'has a malformed tag' },
    { name: 'attributes without a space', text: '<a b="1"c="2"/>', fault: 'has a malformed tag' },
    { name: 'a tag in an attribute', text: '<a b="<"/>', fault: 'has a malformed tag' },
    { name: 'an attribute twice', text: '<a b="1" b="2"/>', fault: 'has an attribute twice' },
    {
      name: 'an attribute twice by two prefixes',
      text: '<a xmlns:p="u" xmlns:q="u" p:b="1" q:b="2"/>',
      fault: 'has a namespace or an attribute that is not well-formed',
    },
    {
      name: 'a prefix that is not declared',
      text: '<p:a/>',
      fault: 'has a namespace or an attribute that is not well-formed',
    },
    {
      name: 'a prefix of an attribute that is not declared',
      text: '<a p:b="1"/>',
      fault: 'has a namespace or an attribute that is not well-formed',
    },
    {
      name: 'a prefix that is taken back',
      text: '<a xmlns:p="u"><b xmlns:p=""/></a>',
      fault: 'has a namespace or an attribute that is not well-formed',
    },
    {
      name: 'another namespace for xml',
      text: '<a xmlns:xml="u"/>',
      fault: 'has a namespace or an attribute that is not well-formed',
    },
    {
      name: 'another prefix for the namespace of xml',
      text: '<a xmlns:p="http://www.w3.org/XML/1998/namespace"/>',
      fault: 'has a namespace or an attribute that is not well-formed',
    },
    {
      name: 'the prefix xmlns',
      text: '<xmlns:a xmlns:xmlns="u"/>',
      fault: 'has a namespace or an attribute that is not well-formed',
    },
    {
      name: 'an attribute that canonical forms leave out',
      text: '<a xmlnsb="1"/>',
      fault: 'has a namespace or an attribute that is not well-formed',
    },
    {
      name: 'a name with a colon too much',
      text: '<p:q:a xmlns:p="u"/>',
      fault: 'has a malformed tag',
    },
    { name: 'a name beyond ASCII', text: '<ä/>', fault: 'has a malformed tag' },
    {
      name: 'a control character',
      text: '<a>\u0001</a>',
      fault: 'has a character that XML does not allow',
    },
    {
      name: 'half a character',
      text: '<a>\uD800</a>',
      fault: 'has a character that XML does not allow',
    },
  ])('has $name (25.6, SI)', ({ text, fault }) => {
    expect(faultIn(text)).toBe(`the XML ${fault}`)
  })
})

describe('the bounds of XML', () => {
  const nested = (levels: number): string => '<a>'.repeat(levels) + '</a>'.repeat(levels)
  const attributes = (count: number): string =>
    Array.from({ length: count }, (_, at) => ` a${at}="1"`).join('')

  test.each<{ name: string; within: string; beyond: string }>([
    {
      name: '2,000 elements',
      within: `<a>${'<b/>'.repeat(1999)}</a>`,
      beyond: `<a>${'<b/>'.repeat(2000)}</a>`,
    },
    { name: '64 levels', within: nested(64), beyond: nested(65) },
    { name: '32 attributes', within: `<a${attributes(32)}/>`, beyond: `<a${attributes(33)}/>` },
    {
      name: '4,000 attributes',
      within: `<a>${`<b${attributes(32)}/>`.repeat(125)}</a>`,
      beyond: `<a b="1">${`<b${attributes(32)}/>`.repeat(125)}</a>`,
    },
  ])('are $name (25.6, SI)', ({ name, within, beyond }) => {
    expect(readXml(within).name).toBe('a')
    expect(faultIn(beyond)).toMatch(
      new RegExp(`^the XML has .*more than ${name.replace(',', '')}$`),
    )
  })

  const NOT_WELL_FORMED = 'the XML has a namespace or an attribute that is not well-formed'
  const prefixes = (count: number, level = 0): string =>
    Array.from({ length: count }, (_, at) => ` xmlns:p${level}-${at}="u"`).join('')
  test.each<{ name: string; within: string; beyond: string }>([
    {
      name: '64 prefixes at one place',
      within: `<a${prefixes(31)}><b${prefixes(31, 1)}/><b${prefixes(31, 2)}/></a>`,
      beyond: `<a${prefixes(31)}><b${prefixes(31, 1)}><c${prefixes(1, 2)}/></b></a>`,
    },
    {
      name: '512 characters of a namespace',
      within: `<a xmlns:p="${'u'.repeat(512)}"/>`,
      beyond: `<a xmlns:p="${'u'.repeat(513)}"/>`,
    },
  ])('are $name (25.6, SI)', ({ within, beyond }) => {
    expect(readXml(within).name).toBe('a')
    expect(faultIn(beyond)).toBe(NOT_WELL_FORMED)
  })

  test.each<{ name: string; text: string }>([
    {
      name: 'namespaces at each of many levels and elements',
      text:
        Array.from({ length: 60 }, (_, level) => `<a${prefixes(31, level)}>`).join('') +
        '<a xmlns:b="c"/>'.repeat(1900),
    },
    { name: '20,000 empty elements', text: `<a>${'<b/>'.repeat(20_000)}</a>` },
    { name: 'starts without ends', text: '<a>'.repeat(40_000) },
    { name: 'half a tag with spaces', text: `<a${' '.repeat(120_000)}` },
    { name: 'a long name', text: `<${'a'.repeat(120_000)}` },
    { name: 'a long name of an attribute', text: `<a ${'b'.repeat(60_000)}${' '.repeat(60_000)}` },
    { name: 'a declaration of spaces', text: `<?xml${' '.repeat(120_000)}` },
    { name: 'bare ampersands', text: `<a>${'&'.repeat(120_000)}</a>` },
    { name: 'numbers without an end', text: `<a>${'&#x11111'.repeat(15_000)}</a>` },
    { name: 'brackets', text: `<a>${']'.repeat(120_000)}` },
  ])('make $name refused at once (25.6, SI)', ({ text }) => {
    const beganMs = performance.now()
    expect(faultIn(text)).toMatch(/^the XML /)
    expect(performance.now() - beganMs).toBeLessThan(1000)
  })
})
