/** Whether a value has functions of these names: of an object of the user's nothing more can be checked. */
export function hasMethods(value: unknown, ...names: readonly PropertyKey[]): boolean {
  // An adapter may be a function with methods.
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  return names.every((name) => typeof Reflect.get(value, name) === 'function')
}
