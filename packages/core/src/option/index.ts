export { hasMethods } from './has-methods.ts'
export { listOptions, type OptionRow } from './list-options.ts'
export { nearest } from './nearest.ts'
export { OptionsError, type OptionViolation, resolveOptions } from './resolve-options.ts'
export {
  boolean,
  durationMs,
  type Fallback,
  func,
  instance,
  integer,
  list,
  mapOf,
  nested,
  number,
  oneOf,
  optional,
  orFalse,
  type Report,
  type Resolved,
  type Rule,
  type Rules,
  secret,
  text,
  unknownOption,
} from './rule.ts'
export { isPlainObject, showValue } from './show-value.ts'
