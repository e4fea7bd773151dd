// The shape of settings: which types stand where (contract 6.2, 6.5).
import { type SettingsError, settingsErrors } from '../../api/config.check.gen.ts'
import { pathOfPointer, pathText } from '../json/pointer.ts'
import type { ShapeCheck } from './read-source.ts'

/** Every place where settings have a wrong type, and the right one; no message quotes the value. */
export const settingsShape: ShapeCheck = (value) => {
  const errors = settingsErrors(value)
  const branches = errors.filter(isOfBranch)
  return errors
    .filter((error) => !isOfBranch(error))
    .map((error) => {
      const types =
        error.keyword === 'anyOf' ? typesOf(branchesOf(error, branches)) : typesOf([error])
      return { path: pathText(pathOfPointer(error.instancePath)), message: `must be ${types}` }
    })
}

/** The entry for the anyOf as a whole says what its branches would say one by one. */
const isOfBranch = ({ schemaPath }: SettingsError): boolean => /\/anyOf\/\d+\//.test(schemaPath)

const branchesOf = (
  { instancePath, schemaPath }: SettingsError,
  branches: readonly SettingsError[],
): readonly SettingsError[] =>
  branches.filter(
    (branch) =>
      branch.instancePath === instancePath && branch.schemaPath.startsWith(`${schemaPath}/`),
  )

const typesOf = (errors: readonly SettingsError[]): string =>
  errors.map(({ params }) => String(params['type'])).join(' or ')
