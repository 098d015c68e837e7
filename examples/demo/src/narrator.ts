/** Tells the story as it happens, or keeps silent. */
export interface Narrator {
  /** A new chapter. */
  readonly chapter: (title: string) => void
  readonly say: (text: string) => void
  /** A number that changed; printed over the one before where the output is a terminal. */
  readonly progress: (text: string) => void
}

/** How often a number is written where it cannot be written over the one before. */
const progressEveryMs = 2_000

/** Tells it on a stream: a terminal or a file. */
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
