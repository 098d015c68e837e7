/** Whether an object has a function of this name: of a user's object nothing more can be checked. */
export function hasFunction(value: unknown, name: string): boolean {
  return typeof value === 'object' && value !== null && typeof Reflect.get(value, name) === 'function'
}
