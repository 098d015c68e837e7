/**
 * The part of a test runner that a suite needs, so that a suite belongs to none. Those of vitest, node:test and jest fit
 * with a line or two: `{ describe, test, skip: (title, reason) => test.skip(`${title}: ${reason}`, …), print }`.
 */
export interface SuiteRunner {
  describe(title: string, define: () => void): void
  test(title: string, run: () => Promise<void>): void
  /** A test that cannot be run here, with the reason: it must show in the runner's report. */
  skip(title: string, reason: string): void
  /** Writes a line that whoever runs the tests sees. */
  print(text: string): void
}
