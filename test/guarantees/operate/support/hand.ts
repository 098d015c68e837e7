import assert from 'node:assert/strict'
import type { Locator, Page } from 'playwright-core'

/** Far more elements than a page of the console has before any of them. */
const maxTabs = 200

/** An operator at a console: with a pointer, or with the keyboard alone. */
export class Hand {
  readonly page: Page
  readonly isKeyboard: boolean

  constructor(page: Page, isKeyboard: boolean) {
    this.page = page
    this.isKeyboard = isKeyboard
  }

  /** Presses a button or a link. The keyboard may have keys of its own for it. */
  async press(target: Locator, keys: readonly string[] = []): Promise<void> {
    await target.waitFor()
    if (!this.isKeyboard) return target.click()
    if (keys.length === 0) {
      await this.#reach(target)
      return this.page.keyboard.press('Enter')
    }
    for (const key of keys) await this.page.keyboard.press(key)
  }

  /** Replaces the text of a field. */
  async fill(target: Locator, text: string): Promise<void> {
    if (!this.isKeyboard) return target.fill(text)
    await this.#reach(target)
    await this.page.keyboard.press('ControlOrMeta+a')
    await this.page.keyboard.insertText(text)
  }

  /** Chooses a radio button. Arrows move from the one that is checked. */
  async choose(target: Locator, checked: Locator, arrows: number): Promise<void> {
    if (!this.isKeyboard) return target.check()
    await this.#reach(checked)
    for (let at = 0; at < arrows; at++) await this.page.keyboard.press('ArrowDown')
    assert.equal(await target.isChecked(), true)
  }

  async #reach(target: Locator): Promise<void> {
    await target.waitFor()
    for (let at = 0; at < maxTabs; at++) {
      if ((await target.and(this.page.locator(':focus')).count()) > 0) return
      await this.page.keyboard.press('Tab')
    }
    throw new Error(`${String(target)} is not reached by Tab`)
  }
}
