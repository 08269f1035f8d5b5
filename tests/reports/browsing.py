"""Driving a real browser: visiting a page, finding what it draws, what it must never do."""

import json
import shutil
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver import ActionChains
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

CHROMIUM, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
needs_browser = pytest.mark.skipif(shutil.which(CHROMIUM) is None, reason=f"{CHROMIUM} is not installed")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


def start(profile: Path, downloads: Path):
    """A browser without a network, which saves files into the folder `downloads`."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.execute_cdp_cmd("Network.enable", {})
    offline = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    driver.execute_cdp_cmd("Network.emulateNetworkConditions", offline)
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(downloads)})
    return driver


def visit(browser, page: Path, width=1400, dark=False):
    browser.get_log("browser")
    browser.get_log("performance")
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(page.as_uri())


def marks(browser, group):
    """The points of a group that can be seen."""
    found = browser.find_elements(By.CSS_SELECTOR, f"#plot g[data-group='{group}'] .point")
    return [m for m in found if m.is_displayed()]


def positions(browser):
    return browser.execute_script(
        "return [...document.querySelectorAll('#plot .point')].map((m) => m.getAttribute('transform'))"
    )


def data_of(browser):
    return json.loads(browser.execute_script("return document.getElementById('data').textContent"))


def point_at(browser, element):
    browser.execute_script("document.getElementById('scatter').scrollIntoView({behavior: 'instant'})")
    ActionChains(browser).move_to_element(element).perform()


def assert_loads_alone_and_fits(browser):
    """No console message, nothing from a network, no sideways scrolling."""
    assert browser.get_log("browser") == []
    addresses = [
        message["params"]["request"]["url"]
        for entry in browser.get_log("performance")
        if (message := json.loads(entry["message"])["message"])["method"] == "Network.requestWillBeSent"
    ]
    assert {a.split(":")[0] for a in addresses} <= {"file", "data"}
    wide, room = browser.execute_script("const e = document.documentElement; return [e.scrollWidth, e.clientWidth]")
    assert wide <= room


def drawn_place(data, row):
    """The place of a row among the marks, which are drawn group by group."""
    order = sorted(range(len(data["axes"][0])), key=lambda i: (data["group"][i], i))
    return order.index(row)


def outermost(data):
    """The row that is furthest out along the first axis: nothing lies over it."""
    return max(range(len(data["axes"][0])), key=lambda i: abs(data["axes"][0][i]))


def click(browser, element):
    """A click on an element, brought to the middle of the window first: nothing lies over it there."""
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
    ActionChains(browser).move_to_element(element).click().perform()


def one(browser, selector):
    """The first element that a CSS selector finds."""
    return browser.find_element(By.CSS_SELECTOR, selector)
