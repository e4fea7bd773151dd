// The refusals of requests that two servers could read differently (contract 11.6). docs/gateway.md has their table from here.
import { refusalCatalogue } from '../../serving/http/answer.ts'

const AMBIGUOUS_PATH =
  'two servers could read it differently: empty and dot segments, slashes and percent signs in names'
const AMBIGUOUS_QUERY =
  'two servers could read a parameter differently: it is repeated, or its selection is ambiguous'

/** The catalogue, in the order of the documentation. */
export const AMBIGUITY_ERRORS = refusalCatalogue({
  pathStart: {
    reason: 'BadRequest',
    message: 'the path must begin with one slash',
    because: AMBIGUOUS_PATH,
  },
  pathEncoding: {
    reason: 'BadRequest',
    message: 'the path must be percent-encoded UTF-8',
    because: AMBIGUOUS_PATH,
  },
  emptySegment: {
    reason: 'BadRequest',
    message: 'the path must have no empty segment',
    because: AMBIGUOUS_PATH,
  },
  dotSegment: {
    reason: 'BadRequest',
    message: 'the path must have no dot segment',
    because: AMBIGUOUS_PATH,
  },
  pathCharacters: {
    reason: 'BadRequest',
    message:
      'a segment of the path must hold no slash, backslash, percent sign or control character',
    because: AMBIGUOUS_PATH,
  },
  legacyVerb: {
    reason: 'BadRequest',
    message: 'the path must name a resource: a watch is a GET with watch=true',
    because: AMBIGUOUS_PATH,
  },
  targetCharacters: {
    reason: 'BadRequest',
    message: 'the request-target must be visible ASCII without a fragment',
    because: AMBIGUOUS_PATH,
  },
  querySemicolon: {
    reason: 'BadRequest',
    message: 'the query must have no semicolon: write %3B',
    because: AMBIGUOUS_QUERY,
  },
  queryLength: {
    reason: 'BadRequest',
    message: 'the query must have at most <count> parameters',
    because: AMBIGUOUS_QUERY,
  },
  queryEncoding: {
    reason: 'BadRequest',
    message: 'the query must be percent-encoded UTF-8',
    because: AMBIGUOUS_QUERY,
  },
  parameterRepeated: {
    reason: 'BadRequest',
    message: 'parameter <parameter> must be given once',
    because: AMBIGUOUS_QUERY,
  },
  parameterUnreadable: {
    reason: 'BadRequest',
    message: 'parameter <parameter> cannot be read',
    because: AMBIGUOUS_QUERY,
  },
  watchParameter: {
    reason: 'BadRequest',
    message: 'watch must be true or false',
    because: AMBIGUOUS_QUERY,
  },
  fieldSelectorTerms: {
    reason: 'BadRequest',
    message: 'fieldSelector must be terms such as metadata.name=x',
    because: AMBIGUOUS_QUERY,
  },
  fieldSelectorNames: {
    reason: 'BadRequest',
    message: 'fieldSelector must have metadata.name once',
    because: AMBIGUOUS_QUERY,
  },
})
