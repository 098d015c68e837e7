/** Prints the progress of the demo, or nothing. */
export interface Narrator {
  /** A new chapter. */
  readonly chapter: (title: string) => void
  readonly say: (text: string) => void
  /** A changed number; on a terminal it overwrites the previous one. */
  readonly progress: (text: string) => void
}

/** How often a number is printed if it cannot overwrite the previous one. */
const progressEveryMs = 2_000

/** Creates a narrator that prints to a stream: a terminal or a file. */
export function createNarrator(out: NodeJS.WriteStream): Narrator {
  let isOpen = false
  let last = ''
  let lastAt = Number.NEGATIVE_INFINITY
  const closeLine = (): void => {
    if (isOpen) out.write('\n')
    isOpen = false
  }
  return {
    chapter(title) {
      closeLine()
      out.write(`\n${title}\n`)
    },
    say(text) {
      closeLine()
      out.write(`  ${text}\n`)
    },
    progress(text) {
      if (text === last) return
      last = text
      if (out.isTTY) {
        out.write(`\r\x1b[2K  ${text}`)
        isOpen = true
      } else if (performance.now() - lastAt > progressEveryMs) {
        out.write(`  ${text}\n`)
        lastAt = performance.now()
      }
    },
  }
}

export const silentNarrator: Narrator = { chapter: () => {}, say: () => {}, progress: () => {} }
