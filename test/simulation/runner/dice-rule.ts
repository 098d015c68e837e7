/** The code under test of the simulation that tests the runner. */
export function isAllowed(seed: number): boolean {
  return seed !== 13
}
