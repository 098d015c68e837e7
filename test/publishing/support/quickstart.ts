import { importedPackages } from './imported-packages.ts'

/** The program a package's README begins with. */
export interface Quickstart {
  readonly code: string
  /** The documented output; undefined when the README shows none. */
  readonly prints: string | undefined
  /** The packages it imports beside Waybill's own. */
  readonly needs: readonly string[]
}

/** The first `ts` block of a README, with the `text` block that may follow it. */
export function quickstartOf(readme: string): Quickstart | undefined {
  const block = /^```ts\n(.*?)^```\n(?:\n?[^\n`]*\n?\n?^```text\n(.*?)^```)?/ms.exec(readme)
  if (block === null) return undefined
  const [, code = '', prints] = block
  return { code, prints, needs: importedPackages(code).filter((name) => !name.startsWith('@waybill/')) }
}
