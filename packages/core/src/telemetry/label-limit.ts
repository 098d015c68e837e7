/** Where the values beyond the limit are counted together. */
const rest = 'other'

/**
 * Keeps a label's values few: the first `max` different ones pass, every later one becomes `other`. Each value is a
 * series that a metrics store keeps for ever, and the names of errors are whatever a handler throws.
 *
 * One limit for each binding and label, living as long as the binding: values that passed keep passing.
 *
 * @defaultValue max 50
 */
export function createLabelLimit(max = 50): (value: string) => string {
  const passed = new Set<string>()
  return (value) => {
    if (passed.has(value)) return value
    if (value === rest || passed.size >= max) return rest
    passed.add(value)
    return value
  }
}
