/**
 * The part of a test runner that a suite needs, so that a suite depends on none. Vitest, node:test and Jest fit with a line
 * or two: `{ describe, test, skip: (title, reason) => test.skip(`${title}: ${reason}`, …), print }`.
 */
export interface SuiteRunner {
  describe(title: string, define: () => void): void
  test(title: string, run: () => Promise<void>): void
  /** Reports a test that cannot run here, with the reason. */
  skip(title: string, reason: string): void
  /** Prints a line to the output of the test run. */
  print(text: string): void
}
